"""The ops of Tile IR, one module a family. Importing this package registers them all."""

import tilewright.tileir.printer  # noqa: F401  (str of a function, which nobody has without ops)
from tilewright.tileir.ops import (
    arith,
    arrays,
    atomics,
    control,
    convert,
    debug,
    fold,
    foreign,
    math,
    matmul,
    memory,
    output,
    reduce,
    shape,
)

__all__ = ["arith", "arrays", "atomics", "control", "convert", "debug", "fold", "foreign", "math", "matmul", "memory",
           "output", "reduce", "shape"]
