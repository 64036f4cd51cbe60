"""NumPy meanings of the ops, one module a family. Importing this package registers them all."""

from tilewright.interp.handlers import (
    arith,
    arrays,
    atomics,
    bulk,
    cluster,
    control,
    convert,
    debug,
    fold,
    foreign,
    machine,
    math,
    matmul,
    memory,
    output,
    reduce,
    shape,
    warpgroup,
)
from tilewright.interp.lowering import HANDLERS
from tilewright.tileir.core import OPS

__all__ = ["arith", "arrays", "atomics", "bulk", "cluster", "control", "convert", "debug", "fold", "foreign", "machine",
           "math", "matmul", "memory", "output", "reduce", "shape", "warpgroup", "missing_handlers"]


def missing_handlers() -> list[str]:
    """Opcodes of declared ops that the interpreter cannot execute (terminators are part of their parent op)."""
    return HANDLERS.missing(OPS.values())
