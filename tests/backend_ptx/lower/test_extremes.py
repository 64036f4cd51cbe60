"""Indices of extremes: each register takes few instructions, and NaNs and ties come out as in the interpreter."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw


@tw.tile_kernel
def extremes(x, out, propagate_nan: tw.Constant[bool]):
    t = tw.load(x, (0, 0), (8, 256))
    tw.store(out, (0, 0), tw.argmax(t, axis=1, propagate_nan=propagate_nan).reshape((1, 8)))
    tw.store(out, (1, 0), tw.argmin(t, axis=1, propagate_nan=propagate_nan).reshape((1, 8)))


@pytest.mark.parametrize(("dtype", "propagate_nan"), [
    (np.float32, False), (np.float32, True), (np.float16, False), (np.float64, True), (np.int32, False),
    (np.uint8, False)])
def test_ties_and_nans(dtype: type, propagate_nan: bool) -> None:
    x: np.ndarray = np.random.default_rng(0).integers(0, 7, (8, 256)).astype(dtype)
    if np.issubdtype(dtype, np.floating):
        x[1, 100:], x[2], x[3, 5] = np.nan, np.nan, np.nan
        x[4], x[4, ::2] = 0.0, -0.0
        x[5], x[5, 3], x[6], x[6, 0] = -np.inf, np.nan, np.inf, np.nan
    got, want = np.full((2, 8), -1, np.int32), np.full((2, 8), -1, np.int32)
    extremes.simulate((1,), x, got, propagate_nan, target="sm_90a")
    extremes.interpret((1,), x, want, propagate_nan)
    np.testing.assert_array_equal(got, want)


@tw.tile_kernel
def index_of_most(x, out, width: tw.Constant[int]):
    tw.store(out, (tw.bid(0),), tw.argmax(tw.load(x, (tw.bid(0), 0), (1, width)), axis=1))


def test_an_element_takes_few_instructions() -> None:
    """A maximum, a comparison, a selection and a minimum: of values with their indices it were four comparisons."""
    ptx = index_of_most.ptx(tw.spec("f32[64,2048]"), tw.spec("i32[64]"), 2048, target="sm_90a")
    assert ptx.count("setp") <= 2 * 64
