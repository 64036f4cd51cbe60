"""Floating-point arithmetic as the hardware does it: one rounding per operation, exact fused multiply-add.

Where NumPy would round twice, the intermediate is a float64 rounded to odd: its last bit says "inexact", so the
second rounding (to a format with at least two bits less) gives the correctly rounded result.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from tilewright.tileir import rounding
from tilewright.tileir.enums import RoundingMode

Array = np.ndarray[Any, Any]
BF16 = np.dtype(ml_dtypes.bfloat16)
F16, F32, F64 = np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64)


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """Rounded sum and its exact error (Knuth)."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def odd(value: Array, error: Array) -> Array:
    """The exact number value + error rounded to odd in float64."""
    value = np.asarray(value, np.float64)
    inexact = (error != 0) & np.isfinite(value) & np.isfinite(error)
    even = (value.view(np.uint64) & np.uint64(1)) == 0
    step = np.nextafter(value, np.where(error > 0, np.inf, -np.inf))
    return np.where(inexact & even, step, value)


def round_to(value: Array, to: np.dtype[Any]) -> Array:
    """A float64 rounded once to the format `to`."""
    if to != BF16:
        return value.astype(to)
    # ml_dtypes goes through float32: make that first step round to odd.
    single = value.astype(np.float32)
    bits = single.view(np.uint32)
    inexact = (single.astype(np.float64) != value) & np.isfinite(single) & ((bits & 1) == 0)
    step = np.nextafter(single, np.where(value > single, np.float32(np.inf), np.float32(-np.inf)))
    return np.where(inexact, step, single).astype(BF16)


def fma(a: Array, b: Array, c: Array) -> Array:
    """a * b + c with one rounding, in the arrays' format."""
    to = a.dtype
    if to == F64:
        p, q, r = np.broadcast_arrays(a, b, c)
        return np.asarray(rounding.fma_float64(p, q, r, RoundingMode.RN))
    x, y, z = (v.astype(np.float64) for v in (a, b, c))
    product = x * y  # exact: at most 48 bits
    total, error = two_sum(product, z)
    return round_to(odd(total, error), to)


def flush(value: Array) -> Array:
    """Subnormal numbers become zero of their sign."""
    small = np.abs(value) < np.finfo(value.dtype).smallest_normal
    return np.where(small, np.copysign(value.dtype.type(0), value), value)


def minimum_number(a: Array, b: Array) -> Array:
    """The smaller, -0 below +0; a NaN loses (PTX min)."""
    smaller = (a < b) | ((a == b) & np.signbit(a))
    return np.where(np.isnan(b) | smaller, a, b)


def maximum_number(a: Array, b: Array) -> Array:
    """The larger, +0 above -0; a NaN loses (PTX max)."""
    larger = (a > b) | ((a == b) & ~np.signbit(a))
    return np.where(np.isnan(b) | larger, a, b)


def minimum(a: Array, b: Array) -> Array:
    """As minimum_number, but a NaN wins (PTX min.NaN)."""
    return np.where(np.isnan(a), a, np.where(np.isnan(b), b, minimum_number(a, b)))


def maximum(a: Array, b: Array) -> Array:
    """As maximum_number, but a NaN wins (PTX max.NaN)."""
    return np.where(np.isnan(a), a, np.where(np.isnan(b), b, maximum_number(a, b)))


def to_integer(value: Array, bits: int, signed: bool, nan: int = 0) -> Array:
    """Truncate toward zero and saturate, as cvt.rzi does; NaN becomes `nan`. The result is unsigned storage."""
    wide = np.trunc(value.astype(np.float64))
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    kind = np.dtype(f"{'i' if signed else 'u'}{max(bits, 8) // 8}")
    inside = (wide >= low) & (wide <= float(high)) & (wide < 2.0 ** (bits - signed))
    out = np.where(inside, wide, 0).astype(kind)
    out = np.where(wide < low, kind.type(low), np.where(~inside & (wide > 0), kind.type(high), out))
    nans = np.array(nan & ((1 << bits) - 1), np.uint64).astype(f"u{kind.itemsize}").view(kind)
    return np.asarray(np.where(np.isnan(wide), nans, out).astype(kind).view(f"u{kind.itemsize}"))


def from_integer(value: Array, to: np.dtype[Any]) -> Array:
    """An integer array (signed or unsigned NumPy type) rounded once to the float format `to`."""
    if to in (F32, F64) or value.dtype.itemsize < 4:
        return value.astype(to) if to != BF16 else value.astype(np.float32).astype(to)
    wide = value.astype(np.float64)
    if value.dtype.itemsize == 8:
        # Below 2^53 exact; above, keep the sign of what was lost.
        big = np.abs(wide) >= 2.0**53
        back = np.where(np.abs(wide) < 2.0**63, wide, 0).astype(value.dtype)
        lost = np.where(big, np.sign((value - back).astype(np.int64).astype(np.float64)), 0.0)
        wide = odd(wide, lost)
    return round_to(wide, to)


def to_tf32(value: Array, even: bool = False) -> Array:
    """float32 rounded to 10 mantissa bits, ties away from zero (cvt.rna.tf32) or to even (cvt.rn.tf32)."""
    bits = value.view(np.uint32)
    half = (bits >> np.uint32(13) & np.uint32(1)) + np.uint32(0xFFF) if even else np.uint32(0x1000)
    rounded = ((bits + half) & np.uint32(0xFFFFE000)).view(np.float32)
    return np.where(np.isfinite(value), rounded, value)


_FP8 = {"e4m3": (np.dtype(ml_dtypes.float8_e4m3fn), 448.0), "e5m2": (np.dtype(ml_dtypes.float8_e5m2), 57344.0)}


def to_fp8(value: Array, kind: str) -> Array:
    """float32 to the byte of an 8-bit float, nearest even, saturating to the largest finite (cvt.satfinite)."""
    to, largest = _FP8[kind]
    clipped = np.clip(value.astype(np.float32), -largest, largest)
    return np.asarray(clipped.astype(to).view(np.uint8))


FOURS = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)
"""The value of each e2m1."""


def from_scale(value: Array, kind: str) -> Array:
    """The float32 value of a byte that scales a block: a power of two (e8m0), or an e4m3 without its sign."""
    if kind == "e8m0":
        powers = np.ldexp(np.float32(1), value.astype(np.int32) - 127)
        return np.where(value == 255, np.float32(np.nan), powers)
    return from_fp8(value & np.uint8(127), kind)


def from_fp8(value: Array, kind: str) -> Array:
    """The float32 value of a byte."""
    return np.asarray(np.ascontiguousarray(value).view(_FP8[kind][0]).astype(np.float32))
