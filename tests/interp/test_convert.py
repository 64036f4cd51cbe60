"""Casts between all dtypes in all rounding modes against exact rational arithmetic, and bit casts."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.interp_cases import (
    TILE,
    apply,
    array_dtype,
    array_type,
    assert_same,
    compile_function,
    round_exact,
    samples,
    wrap,
)

from tilewright.interp import codes
from tilewright.tileir import dtypes as dt
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Block, Function, Value
from tilewright.tileir.enums import RoundingMode
from tilewright.tileir.ops import arrays, control, convert, memory

pytestmark = pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning",
                                        "ignore:overflow encountered:RuntimeWarning")
N = 500
RN, RZ, RM, RP, RA = (RoundingMode[m] for m in ("RN", "RZ", "RM", "RP", "RA"))
NUMBERS = [d for d in dt.ALL if d not in (dt.tfloat32, dt.float8_e5m3fnu)]
INTS = [d for d in NUMBERS if d.is_int]
IEEE = [dt.float16, dt.bfloat16, dt.float32, dt.float64]


def values_of(dtype: dt.DType) -> list[tuple[float, int]]:
    """Every finite value of an 8- or 4-bit format with its code, from ml_dtypes."""
    raw = np.arange(1 << dtype.bitwidth, dtype=np.uint8)
    values = raw.view(array_dtype(dtype)).astype(np.float64)
    return [(float(v), int(c)) for v, c in zip(values, raw, strict=True) if np.isfinite(v)]


@pytest.mark.parametrize("dtype", [d for d in codes.FORMATS if d is not dt.float8_e5m3fnu])
def test_code_tables_agree_with_ml_dtypes(dtype: dt.DType) -> None:
    raw = np.arange(1 << dtype.bitwidth, dtype=np.uint8)
    assert np.array_equal(codes.decode(raw, dtype), raw.view(array_dtype(dtype)).astype(np.float32), equal_nan=True)


def test_unsigned_e5m3_is_e5m2_with_one_more_bit_and_no_sign() -> None:
    table = codes.value_table(dt.float8_e5m3fnu)
    assert table[0] == 0 and table[1] == 2.0**-17 and table[0x78] == 1.0 and np.isnan(table[0xFF])
    assert (np.diff(table[:255]) > 0).all()


def pick(x: Fraction, table: list[tuple[float, int]], mode: RoundingMode) -> int:
    """The code of the table's value that x rounds to; values past the ends saturate."""
    below = max((v for v, _ in table if v <= x), default=min(v for v, _ in table))
    above = min((v for v, _ in table if v >= x), default=max(v for v, _ in table))
    best = {v: c for v, c in sorted(table, key=lambda t: -t[1])}  # of two zeros the positive one
    if below == above or mode is RM:
        return best[below]
    if mode is RP:
        return best[above]
    if mode is RZ:
        return best[below if x > 0 else above]
    low, high = x - Fraction(below), Fraction(above) - x
    if low == high:
        return best[below] if best[below] % 2 == 0 else best[above]
    return best[below] if low < high else best[above]


@pytest.mark.parametrize("src", [dt.float16, dt.bfloat16, dt.float32, dt.float64])
@pytest.mark.parametrize("dst, mode", [(dt.float8_e4m3fn, RN), (dt.float8_e5m2, RN), (dt.float4_e2m1fn, RN),
                                       (dt.float8_e8m0fnu, RZ), (dt.float8_e8m0fnu, RP)])
def test_casts_to_small_floats_round_once_and_saturate(src: Any, dst: Any, mode: Any) -> None:
    x = samples(src, N, 1)
    table = values_of(dst)
    # The middles between neighbours, and values just beside them.
    middles = [(a + b) / 2 for (a, _), (b, _) in zip(sorted(table), sorted(table)[1:], strict=False)]
    near = np.array(middles).astype(x.dtype)
    x[: len(near[: N // 3])] = near[: N // 3]
    x[N // 3 : N // 3 + len(near[: N // 3])] = np.nextafter(near.astype(np.float64), np.inf).astype(x.dtype)[: N // 3]
    if not dst.has_sign:
        x = np.abs(x.astype(np.float64)).astype(x.dtype)
    got = apply(lambda t: convert.Cast(src=t, dtype=dst, rounding=mode), x, output=dst).view(np.uint8)
    largest = max(table)[1]
    sign = 1 << (dst.bitwidth - 1) if dst.has_sign else 0
    for v, code in zip(x.astype(np.float64).tolist(), got.tolist(), strict=True):
        if math.isnan(v):
            assert code == largest if dst is dt.float4_e2m1fn else math.isnan(float(codes.decode(code, dst)))
            continue
        want = largest if math.isinf(v) else pick(abs(Fraction(v)), table, mode)
        assert code == want | (sign if math.copysign(1, v) < 0 else 0), v


@pytest.mark.parametrize("src", NUMBERS)
def test_casts_from_small_formats_are_exact(src: Any) -> None:
    if src.bitwidth > 16:
        return
    x = np.arange(1 << max(src.bitwidth, 1)).astype(f"u{array_dtype(src).itemsize}").view(array_dtype(src))
    got = apply(lambda t: convert.Cast(src=t, dtype=dt.float64), x, output=dt.float64)
    assert_same(got, x.astype(np.float64), x)


@pytest.mark.parametrize("src", INTS)
@pytest.mark.parametrize("dst", [*IEEE, *INTS, dt.bool_])
def test_integer_casts(src: Any, dst: Any) -> None:
    x = samples(src, N, 2)
    got = apply(lambda t: convert.Cast(src=t, dtype=dst), x, output=dst)
    for v, g in zip(x.tolist(), got.tolist(), strict=True):
        if dst.is_bool:
            assert g == (v != 0)
        elif dst.is_int:
            assert g == wrap(v, dst)
        else:
            assert float(g) == (round_exact(Fraction(v), dst, RN) if v else 0.0), v


@pytest.mark.parametrize("dst", [*INTS, dt.bool_])
@pytest.mark.parametrize("src", [*IEEE, dt.float8_e5m2, dt.float8_e4m3fn])
def test_floats_to_integers_saturate(src: Any, dst: Any) -> None:
    x = samples(src, N, 3)
    low, high = dst.int_range
    with np.errstate(all="ignore"):
        edges = np.array([low, high, high + 1, low - 1, 2**53, -0.9, 0.9, 1e30, -1e30], np.float64).astype(x.dtype)
    x[: len(edges)] = edges
    got = apply(lambda t: convert.Cast(src=t, dtype=dst), x, output=dst)
    for v, g in zip(x.astype(np.float64).tolist(), got.tolist(), strict=True):
        if dst.is_bool:
            assert g == (v != 0)
        elif math.isnan(v):
            assert g == 0
        else:
            assert g == (low if v < low else high if v > high else math.trunc(v)), v


@pytest.mark.parametrize("mode", [RN, RZ, RM, RP, RA], ids=lambda m: m.name)
@pytest.mark.parametrize("dst", IEEE)
@pytest.mark.parametrize("src", IEEE)
def test_floats_round_in_every_mode(src: Any, dst: Any, mode: Any) -> None:
    if src is dst:
        return
    x = samples(src, N, 4)
    with np.errstate(all="ignore"):
        # Exact ties of the narrower format.
        step = float(ml_dtypes.finfo(array_dtype(dst)).eps)
        x[:60] = (1 + step * (np.arange(60) + 0.5)).astype(x.dtype)
    got = apply(lambda t: convert.Cast(src=t, dtype=dst, rounding=mode), x, output=dst).astype(np.float64)
    for v, g in zip(x.astype(np.float64).tolist(), got.tolist(), strict=True):
        if math.isfinite(v) and v != 0:
            assert g == round_exact(Fraction(v), dst, mode), v
        else:
            assert (math.isnan(v) and math.isnan(g)) or (v == g and math.copysign(1, v) == math.copysign(1, g))


def through_tf32(x: np.ndarray, mode: RoundingMode) -> np.ndarray:
    src = dt.float64 if x.dtype == np.float64 else dt.float32
    a, out = Value(array_type(src), "a"), Value(array_type(dt.float32), "out")
    body = Block([a, out])
    build = Builder(body)
    block = build.value(arrays.BlockId(axis=0))
    tile = build.value(memory.Load(array=a, index=(block,), shape=(TILE,), steps=(TILE,), order=(0,)))
    tile = build.value(convert.Cast(src=tile, dtype=dt.tfloat32, rounding=mode))
    tile = build.value(convert.Cast(src=tile, dtype=dt.float32))
    build.emit(memory.Store(array=out, index=(block,), value=tile, steps=(TILE,), order=(0,)))
    build.emit(control.Return())
    result = np.zeros(len(x), np.float32)
    compile_function(Function("tf32", body)).run((-(-len(x) // TILE), 1, 1), [x, result])
    return result


@pytest.mark.parametrize("mode", [RN, RZ, RA], ids=lambda m: m.name)
@pytest.mark.parametrize("src", [dt.float32, dt.float64])
def test_tf32_keeps_ten_bits(src: Any, mode: Any) -> None:
    x = samples(src, N, 5)
    x[:40] = 1 + 2.0**-11 * np.arange(40)
    for v, g in zip(x.astype(np.float64).tolist(), through_tf32(x, mode).astype(np.float64).tolist(), strict=True):
        if math.isfinite(v) and v != 0:
            assert g == round_exact(Fraction(v), dt.tfloat32, mode), v
        else:
            assert (math.isnan(v) and math.isnan(g)) or v == g


@pytest.mark.parametrize("src, dst", [(dt.float32, dt.int32), (dt.int16, dt.bfloat16), (dt.bfloat16, dt.float16),
                                      (dt.uint64, dt.float64), (dt.uint8, dt.float8_e4m3fn), (dt.float16, dt.uint16)])
def test_bitcasts_keep_bits(src: Any, dst: Any) -> None:
    x = samples(src, N, 6)
    got = apply(lambda t: convert.Bitcast(src=t, dtype=dst), x, output=dst)
    ok = ~np.isnan(x.astype(np.float64)) if src.is_float else np.ones(N, bool)  # NaN payloads may become quiet
    assert_same(got[ok], x.view(array_dtype(dst))[ok], x[ok])


@pytest.mark.parametrize("dtype", [d for d in NUMBERS if d.bitwidth in (1, 8, 16)])
def test_copies_keep_every_bit(dtype: Any) -> None:
    raw = np.arange(2 if dtype.is_bool else 1 << dtype.bitwidth).astype(f"u{array_dtype(dtype).itemsize}")
    x = raw.view(array_dtype(dtype))
    got = apply(lambda t: convert.Cast(src=t, dtype=dtype), x)
    quiet = 0x200 if dtype is dt.float16 else 0x40 if dtype is dt.bfloat16 else 0
    nan = np.isnan(x.astype(np.float64)) if dtype.is_float else np.zeros(len(x), bool)
    assert np.array_equal(got.view(raw.dtype)[~nan], raw[~nan])
    assert np.array_equal(got.view(raw.dtype)[nan] | quiet, raw[nan] | quiet)
