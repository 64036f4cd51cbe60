"""NumPy meanings of the ops, one module a family. Importing this package registers them all."""

from tilewright.interp.handlers import (
    arith,
    arrays,
    atomics,
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
)

__all__ = ["arith", "arrays", "atomics", "control", "convert", "fold", "machine", "math", "matmul", "memory", "output",
           "reduce", "shape"]
