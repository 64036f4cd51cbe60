"""The hardware's approximate functions. Model: the float64 value rounded to float32, so better than the hardware.

A test that compares with a real GPU, or with another evaluation, must allow the error that the PTX manual states
(2 ulp for most). `ftz` flushes subnormal operands and results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tilewright.backend_ptx.simulator.numbers.floats import flush

Array = np.ndarray[Any, Any]

FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "ex2": np.exp2, "lg2": np.log2, "rcp": lambda x: 1.0 / x, "rsqrt": lambda x: 1.0 / np.sqrt(x), "sqrt": np.sqrt,
    "sin": np.sin, "cos": np.cos, "tanh": np.tanh,
}


def approximate(function: str, ftz: bool, x: Array) -> Array:
    """`function` of PTX's `function.approx[.ftz]` in the format of x."""
    operand = flush(x) if ftz else x
    result = FUNCTIONS[function](operand.astype(np.float64)).astype(x.dtype)
    return flush(result) if ftz else result


def divide_full(ftz: bool, x: Array, y: Array) -> Array:
    """div.full.f32 (2 ulp in hardware)."""
    if ftz:
        x, y = flush(x), flush(y)
    result: Array = x / y
    return flush(result) if ftz else result
