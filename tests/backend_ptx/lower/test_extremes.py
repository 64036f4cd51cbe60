"""Extremes and their indices: a register takes few instructions; NaNs, zeros, ties are those of the interpreter."""

from __future__ import annotations

import ml_dtypes
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
def both(x, least, where, propagate_nan: tw.Constant[bool]):
    t = tw.load(x, (0, 0), (8, 256)) * 2
    tw.store(least, 0, tw.min(t, axis=1, propagate_nan=propagate_nan))
    tw.store(where, 0, tw.argmin(t, axis=1, propagate_nan=propagate_nan))


@tw.tile_kernel
def alone(x, where, propagate_nan: tw.Constant[bool]):
    tw.store(where, 0, tw.argmin(tw.load(x, (0, 0), (8, 256)) * 2, axis=1, propagate_nan=propagate_nan))


@pytest.mark.parametrize("propagate_nan", [False, True])
def test_an_index_beside_its_extreme(propagate_nan: bool) -> None:
    """The extreme is found once: the index is that of the first element which equals it."""
    x = np.random.default_rng(2).integers(0, 7, (8, 256)).astype(np.float32)
    x[1, 100:], x[2], x[3, 5], x[4], x[5, 9] = np.nan, np.nan, np.nan, np.inf, -np.inf
    results = [(np.zeros(8, np.float32), np.full(8, -1, np.int32)) for _ in range(2)]
    both.simulate((1,), x, *results[0], propagate_nan, target="sm_90a")
    both.interpret((1,), x, *results[1], propagate_nan)
    np.testing.assert_array_equal(results[0], results[1])
    x, least, where = tw.spec("f32[8,256]"), tw.spec("f32[8]"), tw.spec("i32[8]")
    texts = (both.ptx(x, least, where, propagate_nan, target="sm_90a"),
             alone.ptx(x, where, propagate_nan, target="sm_90a"))
    minima = {ptx.count("min.NaN.f32" if propagate_nan else "min.f32") for ptx in texts}
    assert len(minima) == 1 and minima.pop() > 0


@tw.tile_kernel
def index_of_most(x, out, width: tw.Constant[int]):
    tw.store(out, (tw.bid(0),), tw.argmax(tw.load(x, (tw.bid(0), 0), (1, width)), axis=1))


def test_an_element_takes_few_instructions() -> None:
    """A maximum, a comparison, a selection and a minimum: of values with their indices it were four comparisons."""
    ptx = index_of_most.ptx(tw.spec("f32[64,2048]"), tw.spec("i32[64]"), 2048, target="sm_90a")
    assert ptx.count("setp") <= 2 * 64


@tw.tile_kernel
def widened(x, most, least, propagate_nan: tw.Constant[bool]):
    t = tw.load(x, (0, 0), (8, 512)).astype(tw.float32)
    tw.store(most, 0, tw.max(t, axis=1, propagate_nan=propagate_nan))
    tw.store(least, 0, tw.min(t, axis=1, propagate_nan=propagate_nan))


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.float16])
@pytest.mark.parametrize("propagate_nan", [False, True])
def test_extremes_of_widened_tiles(dtype: type, propagate_nan: bool) -> None:
    """They are found two elements at a time in the narrow tile."""
    x: np.ndarray = np.random.default_rng(1).standard_normal((8, 512)).astype(dtype)
    x[1, 300:], x[2], x[3, 5] = np.nan, np.nan, np.nan
    x[4], x[4, ::2] = 0.0, -0.0
    x[5] = np.array([1, 2, 0x8001], np.uint16).view(dtype)[np.arange(512) % 3]  # subnormal
    results = [[np.zeros(8, np.float32) for _ in range(2)] for _ in range(2)]
    widened.simulate((1,), x, *results[0], propagate_nan, target="sm_90a")
    widened.interpret((1,), x, *results[1], propagate_nan)
    for got, want in zip(*results, strict=True):
        nan = np.isnan(want)
        np.testing.assert_array_equal(np.isnan(got), nan)
        np.testing.assert_array_equal(got[~nan].view(np.uint32), want[~nan].view(np.uint32))
    name = "bf16" if dtype is ml_dtypes.bfloat16 else "f16"
    ptx = widened.ptx(tw.spec(f"{name}[8,512]"), *[tw.spec("f32[8]")] * 2, propagate_nan, target="sm_90a")
    assert f"max.{'NaN.' if propagate_nan else ''}{name}x2" in ptx
