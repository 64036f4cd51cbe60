"""Arrays for the kernels with seeded defects."""

from __future__ import annotations

from typing import Any

import numpy as np

import tilewright as tw

Array = Any


def floats(*shape: int) -> Array:
    """Positive numbers, all different."""
    return (np.arange(np.prod(shape), dtype=np.float32).reshape(shape) + 1) / 8


def ints(*numbers: int) -> Array:
    return np.array(numbers, np.int32)


def zeros(*shape: int) -> Array:
    return np.zeros(shape, np.float32)


def counters(*shape: int) -> Array:
    return np.zeros(shape, np.int32)


def empty(*shape: int, dtype: Any = np.float32) -> Array:
    """An output, as `np.empty` makes it."""
    return tw.uninitialized(np.full(shape, 7, dtype))
