"""What one case of the table is, and its random inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Array = Any


class Case(NamedTuple):
    """`ours` launches a kernel that writes `out`; `plain` computes the same in NumPy and returns it.

    `close` is the relative difference allowed.
    """

    name: str
    ours: Callable[[], Any]
    out: Array
    plain: Callable[[], Any]
    close: float = 1e-5

    def right(self) -> bool:
        """Does the kernel's result agree with NumPy's?"""
        self.ours()
        got, want = (np.asarray(v, np.float64) for v in (self.out, self.plain()))
        scale = np.abs(want[np.isfinite(want)]).max(initial=0.0)
        return bool(np.allclose(got, want, rtol=self.close, atol=self.close * scale, equal_nan=True))


def normal(*shape: int, dtype: Any = np.float32, seed: int = 0) -> Array:
    """Normally distributed numbers."""
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def positive(*shape: int, dtype: Any = np.float32, seed: int = 0) -> Array:
    """Numbers between 0.5 and 2."""
    return np.random.default_rng(seed).uniform(0.5, 2.0, shape).astype(dtype)


def whole(high: int, *shape: int, dtype: Any = np.int32, seed: int = 0, low: int = 0) -> Array:
    """Integers from `low` up to, but not including, `high`."""
    return np.random.default_rng(seed).integers(low, high, shape).astype(dtype)
