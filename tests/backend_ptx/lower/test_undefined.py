"""LLVM may take undefined behaviour for impossible: what its passes make of kernels that come near to it."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tilewright as tw
from tilewright.backend_ptx.simulator import simulate_optimised


@tw.tile_kernel
def divide_chosen(x, out, kept):
    """Quotients by 0 are computed and not used; `chosen` is stored before them."""
    y = tw.load(x, (0,), (64,))
    chosen = y > 5
    tw.store(kept, (0,), chosen.astype(tw.int32))
    d = tw.where(chosen, y, 0)
    tw.store(out, (0,), tw.where(chosen, 100 // d + 100 % d, 77))


@tw.tile_kernel
def divide_up_chosen(x, out, kept):
    y = tw.load(x, (0,), (64,))
    chosen = y > 5
    tw.store(kept, (0,), chosen.astype(tw.int32))
    tw.store(out, (0,), tw.where(chosen, tw.cdiv(100, tw.where(chosen, y, 0)), 77))


@tw.tile_kernel
def divide_if(x, out, known):
    """Without `known` there is no element to load, and the quotient is not used."""
    d = tw.int32(0)
    if known:
        d = tw.load(x, (0,), ()).astype(tw.int32)
    q = 1000 // d
    tw.store(out, (0,), q if known else 7)


@tw.tile_kernel
def to_integers(x, out):
    tw.store(out, (0,), tw.load(x, (0,), (16,)).astype(out.dtype))


@tw.tile_kernel
def chosen_to_integers(x, out):
    v = tw.load(x, (0,), (16,))
    tw.store(out, (0,), tw.where(v > 1, v, float("nan")).astype(out.dtype))


def check(kernel: Any, *args: Any) -> None:
    """LLVM's code gives what the interpreter gives."""
    wants, gots = ([np.copy(a) if isinstance(a, np.ndarray) else a for a in args] for _ in "12")
    kernel.interpret((1,), *wants)
    for target in ("sm_80", "sm_90a"):
        simulate_optimised(kernel.lower(*gots, target=target).lowered, 1, kernel.lower(*gots).values, target)
        for got, want in zip(gots, wants, strict=True):
            assert np.array_equal(got, want, equal_nan=True) if isinstance(got, np.ndarray) else got == want


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "uint32", "uint64"])
def test_masks_of_divisors_stay(dtype: str) -> None:
    kernels = [divide_chosen] if dtype in ("int8", "uint8") else [divide_chosen, divide_up_chosen]
    for kernel in kernels:
        check(kernel, np.arange(64).astype(dtype) % 11, np.zeros(64, dtype), np.zeros(64, np.int32))


def test_branches_around_divisors_stay() -> None:
    for known, x in ((False, np.zeros(0, np.int32)), (True, np.array([7], np.int32))):
        check(divide_if, x, np.zeros(1, np.int32), known)


@pytest.mark.parametrize("target", ["int8", "uint16", "int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("source", [ml_dtypes.float8_e8m0fnu, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2],
                         ids=lambda d: np.dtype(d).name)
def test_nan_of_small_floats_is_zero(source: Any, target: str) -> None:
    codes = np.array([255, 127, 0, 1, 124, 252, 120, 200, 130, 140, 160, 180, 254, 126, 3, 60], np.uint8)
    check(to_integers, codes.view(source), np.ones(16, target))


@pytest.mark.parametrize("target", ["int8", "int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("source", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64],
                         ids=lambda d: np.dtype(d).name)
def test_choices_of_nan_stay(source: Any, target: str) -> None:
    x = np.array([0.5, 2, -3, 200, np.inf, -np.inf, np.nan, 1e4, 3.5, 1, 0, 1e-3, 6e4, 7, 9, 30]).astype(source)
    check(chosen_to_integers, x, np.ones(16, target))
