"""The maximum and minimum of floats of 16 bits in memory, which a loop of compare-and-swap makes."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tilewright as tw
from tilewright.backend_ptx.simulator import simulate


@tw.tile_kernel
def extremes(x, at, high, low):
    """Several elements, of several blocks, go to one place, some to none."""
    i = tw.bid(0)
    t, where = tw.load(x, i, 32), tw.load(at, i, 32)
    tw.atomic_max(high, where, t)
    tw.atomic_min(low, tw.where(t < 2.0, where, 8), t)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_extremes_in_memory(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    x = rng.choice([-3.5, -1.0, -0.0, 0.0, 1.5, 2.0, 70.0, np.inf, -np.inf, np.nan], 64).astype(dtype)
    at = rng.integers(0, 6, 64).astype(np.int32)
    held = []
    for run in (lambda *args: extremes.interpret((2,), *args), lambda *args: simulate(extremes, (2,), args, "sm_90a")):
        high, low = np.full(8, -5.0, dtype), np.full(8, 5.0, dtype)
        run(x, at, high, low)
        held.append(np.stack([high, low]).astype(np.float32))
    np.testing.assert_array_equal(held[1], held[0])
    assert (held[0][0] > 2).any() and (held[0][0] == -5).any() and (held[0][1] < 0).any()
