"""Vectors of a thread get what scalars get, bit by bit: loops over lanes included."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.math_functions import run

COUNT = 128
ONE = ("exp", "exp2", "log", "log2", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "rsqrt", "erf", "erfc",
       "log1p", "asinh")


def arguments(kind: Any, seed: int) -> Any:
    """Small, large (for the long reduction of sin) and special numbers, so that lanes of one thread differ."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-3, 3, COUNT)
    x[::3] = rng.uniform(-1, 1, len(x[::3])) * 2.0 ** rng.integers(-120, 120, len(x[::3]))
    x[::11] = np.resize([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0], len(x[::11]))
    return x.astype(kind)


@pytest.mark.parametrize("lanes", [1, 2, 4])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("name", [*ONE, "atan2", "pow"])
def test_vectors_equal_scalars(name: str, kind: Any, lanes: int) -> None:
    inputs = [arguments(kind, seed) for seed in range(1 if name in ONE else 2)]
    np.testing.assert_array_equal(bits(run(name, *inputs, lanes=lanes)), bits(run(name, *inputs)))


def bits(x: Any) -> Any:
    """The bits of numbers, of which all NaNs count as one."""
    return np.where(np.isnan(x), np.nan, x).view(f"u{x.itemsize}")
