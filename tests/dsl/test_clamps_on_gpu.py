"""Clamps to [0, 1] and [-0.0, 1], choices of -0.0 and -1.0: ptxas makes other things of some (ptxas_defects.py)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.backend_ptx.simulator import simulate
from tilewright.inspecting import sass

VALUES = np.resize(np.array([-0.0, 0.0, np.nan, -np.nan, 1.0, 2.0, -3.0, 0.25, 1e-42, -1e-42, np.inf, -np.inf]), 32)


@tw.tile_kernel
def maximum_first(x, out):
    tw.store(out, (0,), tw.minimum(tw.maximum(tw.load(x, (0,), (32,)), 0.0), 1.0))


@tw.tile_kernel
def minimum_first(x, out):
    tw.store(out, (0,), tw.maximum(tw.minimum(tw.load(x, (0,), (32,)), 1.0), 0.0))


@tw.tile_kernel
def to_minus_zero(x, out):
    tw.store(out, (0,), tw.clamp(tw.load(x, (0,), (32,)), -0.0, 1.0))


@tw.tile_kernel
def to_minus_zero_skipping_nans(x, out):
    tw.store(out, (0,), tw.minimum(tw.maximum(tw.load(x, (0,), (32,)), -0.0), 1.0))


@tw.tile_kernel
def minimum_first_to_minus_zero(x, out):
    tw.store(out, (0,), tw.maximum(tw.minimum(tw.load(x, (0,), (32,)), 1.0), -0.0))


@tw.tile_kernel
def sums(x, out):
    t = tw.load(x, (0,), (32,))
    tw.store(out, (0,), tw.minimum(tw.maximum(t * 0.5 + t, -0.0), 1.0))


@tw.tile_kernel
def below_minus_zero(x, out):
    tw.store(out, (0,), tw.minimum(tw.maximum(tw.load(x, (0,), (32,)), -1.0), -0.0))


@tw.tile_kernel
def choices(x, out):
    """LLVM computes the clamp of either number."""
    t = tw.where(tw.load(x, (0,), (32,)) >= 0.5, tw.full((), 0.0, out.dtype), tw.full((), -2.0, out.dtype))
    tw.store(out, (0,), tw.minimum(tw.maximum(t, -1.0), -0.0))


@tw.tile_kernel
def choices_the_other_way(x, out):
    t = tw.where(tw.load(x, (0,), (32,)) >= 0.5, tw.full((), -2.0, out.dtype), tw.full((), 0.0, out.dtype))
    tw.store(out, (0,), tw.minimum(tw.maximum(t, -1.0), -0.0))


@tw.tile_kernel
def of_one(x, out):
    """Each element alone: float16 is not computed in pairs."""
    for i in range(32):
        tw.store(out, (i,), tw.minimum(tw.maximum(tw.load(x, (i,), (1,)), -0.0), 1.0))


@tw.tile_kernel
def of_one_minimum_first(x, out):
    for i in range(32):
        tw.store(out, (i,), tw.maximum(tw.minimum(tw.load(x, (i,), (1,)), 1.0), -0.0))


@tw.tile_kernel
def compared(x, out):
    t = tw.load(x, (0,), (32,))
    tw.store(out, (0,), tw.where(t < 0.5, tw.full((32,), -0.0, out.dtype), tw.full((32,), 1.0, out.dtype)))


CLAMPS = [maximum_first, minimum_first, to_minus_zero, to_minus_zero_skipping_nans, minimum_first_to_minus_zero, sums]
ALONE = [of_one, of_one_minimum_first]
KERNELS = [*CLAMPS, *ALONE, below_minus_zero, choices, choices_the_other_way, compared]
DTYPES = [np.float16, np.float32, np.float64]


def bits(values: np.ndarray) -> np.ndarray:
    """With every NaN alike, the sign of zeros apart."""
    integer = np.dtype(f"i{values.itemsize}")
    return np.where(np.isnan(values), values.dtype.type(np.nan), values).view(integer)


def given(dtype: Any) -> np.ndarray:
    with np.errstate(under="ignore"):
        return VALUES.astype(dtype)


def results(kernel: Any, dtype: Any) -> np.ndarray:
    want = np.ones(32, dtype)
    kernel[(1,)](given(dtype), want)
    return bits(want)


@pytest.mark.parametrize("width", [32, 64])
def test_only_the_usual_clamp_has_a_maximum_of_floats(width: int) -> None:
    """Which ptxas may make .SAT of; it does the same for a comparison with 0.0 and a selection. A float64 that keeps
    its NaN is chosen after the maximum, which keeps that from ptxas."""
    array = tw.spec(f"f{width}[32]")
    texts = [kernel.ptx(array, array, target="sm_90a") for kernel in CLAMPS]
    assert [f"max.f{width}" in text for text in texts] == [True, False, False, False, False, False]
    assert f"max.s{width} \t%" in texts[1] and f"min.u{width} \t%" in texts[4] and f"setp.ge.f{width} p" in texts[3]


def test_single_float16_are_computed_in_pairs() -> None:
    array = tw.spec("f16[32]")
    texts = [kernel.ptx(array, array, target="sm_90a") for kernel in ALONE]
    assert all("max.f16x2" in text and "max.f16 " not in text for text in texts)


def test_choices_of_minus_zero_and_minus_one_are_of_bits() -> None:
    """ptxas would convert the integers 0 and -1."""
    array = tw.spec("f32[32]")
    for kernel, first, second in ((choices, "80000000", "BF800000"), (choices_the_other_way, "BF800000", "80000000"),
                                  (compared, "80000000", "3F800000")):
        text = kernel.ptx(array, array, target="sm_90a")
        assert "selp.f32" not in text and f", 0x{first}, 0x{second}, %p" in text


def test_ptxas_leaves_the_instructions_instead_alone() -> None:
    """No conversion of integers, no maximum in front of the minimum."""
    try:
        sass.find_disassembler()
    except tw.TileUnsupportedFeatureError:
        pytest.skip("no disassembler is installed")
    single, double = tw.spec("f32[32]"), tw.spec("f64[32]")
    for kernel in (choices, choices_the_other_way):
        assert "I2F" not in kernel.sass(single, single, target="sm_90a")
    for kernel in (minimum_first, minimum_first_to_minus_zero):
        text = kernel.sass(double, double, target="sm_90a")
        assert "DSETP.MIN" in text and "DSETP.MAX" not in text


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.__name__)
def test_the_instructions_instead_mean_the_same(kernel: Any, dtype: Any) -> None:
    got = np.ones(32, dtype)
    simulate(kernel, (1,), (given(dtype), got), "sm_90a")
    np.testing.assert_array_equal(bits(got), results(kernel, dtype))


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.__name__)
def test_a_gpu_computes_what_the_interpreter_does(kernel: Any, dtype: Any) -> None:
    out = tw.to_device(np.ones(32, dtype))
    kernel[(1,)](tw.to_device(given(dtype)), out)
    np.testing.assert_array_equal(bits(out.to_host()), results(kernel, dtype))
