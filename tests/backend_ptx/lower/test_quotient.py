"""Quotients of many elements by one number: the bits of a division, whatever is divided."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.tileir.machine_ops.arith import LARGEST_DIVISOR, SMALLEST_DIVISOR, DivideBy
from tilewright.tileir.rounding import fma_float32

ROWS, COLUMNS = 64, 64


@tw.tile_kernel
def divided(x, by, out, divisors: tw.Constant[int]):
    i = tw.bid(0)
    tw.store(out, (i, 0), tw.load(x, (i, 0), (1, COLUMNS)) / tw.load(by, (i, 0), (1, divisors)))


def _edges(rng: np.random.Generator) -> np.ndarray:
    """Powers of two and their neighbours, near the ends of what is taken from a reciprocal and of float32."""
    exponents = np.array([-149, -148, -127, -126, -125, -82, -81, -80, -79, -41, -40, -39])
    exponents = np.concatenate([exponents, -exponents[exponents > -127], [0, 127]])
    powers = np.ldexp(1.0, exponents).astype(np.float32)
    one = np.concatenate([powers, np.nextafter(powers, 0), np.nextafter(powers, np.float32(np.inf)),
                          np.array([0, np.inf, np.nan, 3.4028235e38], np.float32)])
    return rng.permutation(np.concatenate([one, -one]).astype(np.float32))


def _next_to_midpoints(first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
    """All significands of 24 bits (x, d), first <= d < last, with x / d so near to the middle of two floats that a
    quotient corrected once could round wrongly: x 2**k - d m = -6 to 6 for an odd m of 25 bits."""
    found: list[tuple[np.ndarray, np.ndarray]] = []
    d = np.arange(first, last, dtype=np.uint64)
    for zeros in range(3):
        of = d[(d & np.uint64((2 << zeros) - 1)) == np.uint64(1 << zeros)]
        odd = of >> np.uint64(zeros)
        inverse = odd.copy()
        for _ in range(5):
            inverse *= np.uint64(2) - odd * inverse
        for k in (24, 25):
            for rest in [r for r in range(-6, 7) if r and r % (1 << zeros) == 0]:
                step = 1 << (k - zeros)
                m = np.uint64((rest >> zeros) % (1 << 64)) * inverse & np.uint64(step - 1)
                for more in range(0, 1 << 25, step):
                    middle = m + np.uint64(more)
                    x = (of * middle - np.uint64(rest % (1 << 64))) >> np.uint64(k)
                    ok = (middle >> np.uint64(24) == 1) & (middle & np.uint64(1) == 1) & (x >> np.uint64(23) == 1)
                    found.append((x[ok], of[ok]))
    return np.concatenate([x for x, _ in found]), np.concatenate([d for _, d in found])


def test_near_midpoints_one_correction_rounds_as_a_division() -> None:
    """The claim of backend_ptx/lower/quotient.py; with TILEWRIGHT_THOROUGH every divisor is tried."""
    step = 1 << 16
    starts = range(1 << 23, 1 << 24, step if os.environ.get("TILEWRIGHT_THOROUGH") else 32 * step)
    tried = 0
    for start in [*starts, (1 << 24) - step]:
        x, d = (np.ldexp(v.astype(np.float64), -23).astype(np.float32) for v in _next_to_midpoints(start, start + step))
        r = np.float32(1) / d
        first = x * r
        remainder = fma_float32(d, first, -x)
        np.testing.assert_array_equal(fma_float32(-remainder, r, first), x / d)
        tried += len(x)
    assert tried > 100_000


@pytest.mark.parametrize("kind", ["edges", "usual", "zeros"])
def test_quotients_have_the_bits_of_a_division(kind: str) -> None:
    rng = np.random.default_rng(4)
    by = np.resize(_edges(rng), (ROWS, 1)).copy()
    x = rng.standard_normal((ROWS, COLUMNS)).astype(np.float32)
    if kind == "edges":  # each dividend among others that need no division, and by each divisor
        x[:, ::7] = np.resize(_edges(rng), x[:, ::7].shape)
    if kind == "zeros":
        x *= rng.integers(-1, 2, x.shape)
        by = np.abs(rng.standard_normal((ROWS, 1)).astype(np.float32)) + np.float32(0.01)
    out, told = np.empty_like(x), np.empty_like(x)
    divided.simulate((ROWS,), x, by, out, 1, target="sm_90a")
    divided.interpret((ROWS,), x, by, told, 1)
    with np.errstate(all="ignore"):
        want = x / by
    for got in (out, told):
        np.testing.assert_array_equal(got.view(np.uint32)[~np.isnan(want)], want.view(np.uint32)[~np.isnan(want)])
        np.testing.assert_array_equal(np.isnan(got), np.isnan(want))


@tw.tile_kernel
def normed(x, out, eps: float):
    i = tw.bid(0)
    t = tw.load(x, (i, 0), (1, COLUMNS))
    tw.store(out, (i, 0), t / tw.sqrt(tw.sum(t * t, axis=1, keepdims=True) / x.shape[1] + eps))


@tw.tile_kernel
def shares(x, out):
    i = tw.bid(0)
    e = tw.abs(tw.load(x, (i, 0), (1, COLUMNS)))
    tw.store(out, (i, 0), e / tw.sum(e, axis=1, keepdims=True))


@tw.tile_kernel
def by_other_rows(x, out):
    """The sum of squares of each row divides a column."""
    t = tw.load(x, (0, 0), (COLUMNS, COLUMNS))
    tw.store(out, (0, 0), t / tw.sqrt(tw.sum(t * t, axis=1))[None, :])


@tw.tile_kernel
def by_sums(x, out):
    """What is negative may make a sum of large numbers small."""
    i = tw.bid(0)
    t = tw.load(x, (i, 0), (1, COLUMNS))
    tw.store(out, (i, 0), t / tw.sum(t, axis=1, keepdims=True))


def _bounded(kernel: Any, *more: Any) -> list[bool]:
    spec = tw.spec(f"f32[{COLUMNS},{COLUMNS}]")
    machine = kernel.lower(spec, spec, *more, target="sm_90a").machine_ir()
    return [op.bounded for op in machine.walk() if isinstance(op, DivideBy)]


def test_divisors_that_grow_with_the_dividends_are_known() -> None:
    eps = tw.spec("f32")
    assert [_bounded(normed, eps), _bounded(shares), _bounded(by_other_rows), _bounded(by_sums)] == [
        [True], [True], [False], [False]]


@pytest.mark.parametrize(("kernel", "more"), [(normed, (1e-5,)), (shares, ())])
def test_rows_with_large_dividends_are_divided(kernel: Any, more: tuple[Any, ...]) -> None:
    """Each row has a power of two, a NaN or an infinity among zeros and ones, so that sums are exact in any order."""
    powers = [0, 1, -1, 39, 40, 41, 60, 63, 64, 65, 79, 80, 81, 100, 127, -80, -100, -126, -149]
    heads = [*(2.0**n for n in powers), np.inf, -np.inf, np.nan]
    x = np.zeros((2 * len(heads), COLUMNS), np.float32)
    x[: len(heads), 0] = x[len(heads) :, 0] = heads
    x[len(heads) :, 5:9] = 1, -1, 0.5, 2.0**-10
    out, told = np.empty_like(x), np.empty_like(x)
    kernel.simulate((len(x),), x, out, *more, target="sm_90a")
    kernel.interpret((len(x),), x, told, *more)
    np.testing.assert_array_equal(np.isnan(out), np.isnan(told))
    kept = ~np.isnan(told)
    np.testing.assert_array_equal(out.view(np.uint32)[kept], told.view(np.uint32)[kept])


@tw.tile_kernel
def means(x, out, ROWS: tw.Constant[bool]):
    """The divisor is the same in all iterations, or the row's own."""
    for i in range(tw.bid(0), x.shape[0], tw.num_blocks(0)):
        t = tw.load(x, (i, 0), (2, COLUMNS))
        total = tw.sum(t, axis=1, keepdims=True)
        tw.store(out, (i, 0), t * (total / (tw.max(t, axis=1, keepdims=True) if ROWS else x.shape[1])))


def test_what_divides_in_every_iteration_has_one_reciprocal() -> None:
    assert [_bounded(means, rows) for rows in (False, True)] == [[False], []]


def test_what_has_no_reciprocal_is_divided() -> None:
    """A few elements for each divisor, other roundings, and other dtypes stay divisions."""
    def shares(dtype: str, divisors: int) -> bool:
        x, by = tw.spec(f"{dtype}[64,64]"), tw.spec(f"{dtype}[64,{divisors}]")
        machine = divided.lower(x, by, x, divisors, target="sm_90a").machine_ir()
        return any(isinstance(op, DivideBy) for op in machine.walk())

    assert [shares("f32", 1), shares("f32", COLUMNS), shares("f64", 1)] == [True, False, False]
    assert SMALLEST_DIVISOR * LARGEST_DIVISOR == 1
