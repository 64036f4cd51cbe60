"""Clamps of float32 to [0, 1] and to [-0.0, 1]: ptxas makes .SAT of some that mean another thing (ptxas_defects.py)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.backend_ptx.simulator import simulate

VALUES = np.resize(np.array([-0.0, 0.0, np.nan, -np.nan, 1.0, 2.0, -3.0, 0.25, 1e-42, -1e-42, np.inf, -np.inf],
                            np.float32), 32)


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


KERNELS = [maximum_first, minimum_first, to_minus_zero, to_minus_zero_skipping_nans, minimum_first_to_minus_zero, sums]


def bits(values: np.ndarray) -> np.ndarray:
    """With every NaN alike, the sign of zeros apart."""
    return np.where(np.isnan(values), np.float32(np.nan), values).view(np.int32)


def results(kernel: Any) -> np.ndarray:
    want = np.ones(32, np.float32)
    kernel[(1,)](VALUES, want)
    return bits(want)


def test_only_the_usual_clamp_has_a_maximum_of_floats() -> None:
    """Which ptxas may make .SAT of; it does the same for a comparison with 0.0 and a selection."""
    array = tw.spec("f32[32]")
    texts = [kernel.ptx(array, array, target="sm_90a") for kernel in KERNELS]
    assert ["max.f32" in text for text in texts] == [True, False, False, False, False, False]
    assert "max.s32 \t%" in texts[1] and "min.u32 \t%" in texts[4] and "setp.ge.f32 p" in texts[3]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.__name__)
def test_the_instructions_instead_mean_the_same(kernel: Any) -> None:
    got = np.ones(32, np.float32)
    simulate(kernel, (1,), (VALUES.copy(), got), "sm_90a")
    np.testing.assert_array_equal(bits(got), results(kernel))


@pytest.mark.gpu
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.__name__)
def test_a_gpu_computes_what_the_interpreter_does(kernel: Any) -> None:
    out = tw.to_device(np.ones(32, np.float32))
    kernel[(1,)](tw.to_device(VALUES), out)
    np.testing.assert_array_equal(bits(out.to_host()), results(kernel))
