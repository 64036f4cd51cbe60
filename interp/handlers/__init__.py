"""NumPy meanings of the ops, one module a family. Importing this package registers them all."""

from tilewright.interp.handlers import (
    arith,
    arrays,
    atomics,
    bulk,
    cluster,
    control,
    convert,
    fold,
    machine,
    math,
    matmul,
    memory,
    output,
    reduce,
    shape,
    warpgroup,
)

__all__ = ["arith", "arrays", "atomics", "bulk", "cluster", "control", "convert", "fold", "machine", "math", "matmul",
           "memory", "output", "reduce", "shape", "warpgroup"]
