"""Exact arithmetic: error terms, round to odd, directed rounding, fused multiply-add.

The idea throughout: compute in float64, find the sign of the error, and make the last bit odd where the result is
inexact. Such a value rounds to any narrower format (two bits less or more) as the exact result would (Boldo and
Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np

from tilewright.tileir import dtypes as dt
from tilewright.tileir.dtypes import DType
from tilewright.tileir.enums import RoundingMode

Array = Any
RN, RZ, RM, RP, RA = RoundingMode.RN, RoundingMode.RZ, RoundingMode.RM, RoundingMode.RP, RoundingMode.RA


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """a + b rounded, and its exact error (Knuth); the error is NaN where the sum is not finite."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def with_zero(s: Array, a: Array, b: Array, mode: RoundingMode) -> Array:
    """The sum s of a and b with the zero of a rounding mode: x + -x is -0 in RM; the sum of two positive zeros stays
    +0."""
    if mode is not RM:
        return s
    return np.where((s == 0) & ((a != 0) | np.signbit(a) | np.signbit(b)), -0.0, s)


def _split(a: Array) -> tuple[Array, Array]:
    c = a * 134217729.0  # 2**27 + 1
    high = c - (c - a)
    return high, a - high


def two_prod(a: Array, b: Array) -> tuple[Array, Array]:
    """a * b rounded, and its exact error (Dekker); exponents must be far from the limits of float64."""
    p = a * b
    ah, al = _split(a)
    bh, bl = _split(b)
    return p, ((ah * bh - p) + ah * bl + al * bh) + al * bl


def to_odd(s: Array, error: Array) -> Array:
    """The odd neighbour of the exact value s + error, where s is that value rounded to nearest in float64."""
    s = np.asarray(s, np.float64)
    bits = s.view(np.int64)
    fix = ((bits & 1) == 0) & (error != 0) & np.isfinite(s) & ~np.isnan(error)
    away = (error > 0) == (s > 0)
    return np.where(fix, np.where(away, bits + 1, bits - 1), bits).view(np.float64)


def odd_float32(x: Array) -> Array:
    """float64 to float32, rounded to odd."""
    x = np.asarray(x, np.float64)
    y = x.astype(np.float32)
    bits = y.view(np.int32)
    fix = ((bits & 1) == 0) & (y != x) & np.isfinite(x)
    away = np.abs(y.astype(np.float64)) < np.abs(x)
    return np.where(fix, np.where(away, bits + 1, bits - 1), bits).astype(np.int32).view(np.float32)


def round_f16(x: Array) -> Array:
    """float32 values rounded to float16, nearest even, held as float32.

    In integers: NumPy's own conversion raises the underflow flag element by element, which makes it many times slower
    where values underflow, as those of a softmax do.
    """
    x = np.asarray(x)
    bits = x.view(np.uint32)
    out = bits >> np.uint32(13)
    out &= np.uint32(1)
    out += bits
    out += np.uint32(0x0FFF)
    out &= np.uint32(0xFFFFE000)
    out = out.view(np.float32)
    magnitude = np.abs(x)
    small = magnitude < np.float32(2.0**-14)
    if small.any():
        # Between 0.5 and 1 a float32 unit is 2**-24, the spacing of float16's subnormals.
        out = np.where(small, np.copysign((magnitude + np.float32(0.5)) - np.float32(0.5), x), out)
    if not (magnitude < np.float32(65520)).all():
        out = np.where(np.isnan(x), x, out)
        out = np.where(magnitude >= np.float32(65520), np.copysign(np.float32(np.inf), x), out)
    return out


def round_bf16(x: Array) -> Array:
    """float32 values rounded to bfloat16, held as float32."""
    return x.astype(ml_dtypes.bfloat16).astype(np.float32)


def round_tf32(x: Array) -> Array:
    """float32 values rounded to 10 mantissa bits, nearest even."""
    bits = np.asarray(x).view(np.uint32)
    rounded = bits + np.uint32(0x0FFF) + ((bits >> np.uint32(13)) & np.uint32(1))
    out = (rounded & np.uint32(0xFFFFE000)).view(np.float32)
    return np.where(np.isnan(x), x, out)


_NARROW = {dt.float16: round_f16, dt.bfloat16: round_bf16, dt.tfloat32: round_tf32}


def nearest(x: Array, dtype: DType) -> Array:
    """float64 values rounded once to a float dtype, nearest even, in held form (not for code formats)."""
    if dtype is dt.float64:
        return x
    if dtype is dt.float32:
        return np.asarray(x).astype(np.float32)
    return _NARROW[dtype](odd_float32(x))


def _step(y: Array, dtype: DType, up: Array, down: Array) -> Array:
    """Move held values of `dtype` one step away from zero where `up`, toward zero where `down`."""
    if dtype is dt.float64:
        bits = np.asarray(y, np.float64).view(np.int64)
        return (bits + up.astype(np.int64) - down.astype(np.int64)).view(np.float64)
    if dtype is dt.float16:
        half = np.asarray(y, np.float32).astype(np.float16).view(np.int16)
        moved = half + up.astype(np.int16) - down.astype(np.int16)
        return moved.view(np.float16).astype(np.float32)
    unit = np.int32({dt.float32: 1, dt.tfloat32: 1 << 13, dt.bfloat16: 1 << 16}[dtype])
    bits32 = np.asarray(y, np.float32).view(np.int32)
    return (bits32 + up * unit - down * unit).astype(np.int32).view(np.float32)


def narrow(x: Array, dtype: DType, mode: RoundingMode) -> Array:
    """float64 values rounded once to `dtype` in a rounding mode, in held form.

    `x` is exact, or an exact value rounded to odd in float64 (unless dtype is float64, where x must be exact).
    """
    y = nearest(x, dtype)
    if mode is RN or dtype is dt.float64:
        return y
    x = np.asarray(x, np.float64)
    value = np.asarray(y).astype(np.float64)
    return _adjust(y, dtype, np.where(np.isnan(x), 0.0, _difference(x, value)), mode, x)


def _difference(x: Array, y: Array) -> Array:
    """Sign of x - y, without inf - inf."""
    return (x > y).astype(np.float64) - (x < y)


def _adjust(y: Array, dtype: DType, sign: Array, mode: RoundingMode, x: Array | None = None) -> Array:
    """Turn nearest-even `y` into another mode; `sign` is the sign of (exact - y)."""
    negative = np.signbit(y)
    if mode is RM:
        down, up = (sign < 0) & ~negative, (sign < 0) & negative
    elif mode is RP:
        down, up = (sign > 0) & negative, (sign > 0) & ~negative
    elif mode is RZ:
        down, up = np.where(negative, sign > 0, sign < 0), np.zeros(np.shape(y), bool)
    else:
        assert mode is RA and x is not None
        return _away(y, dtype, sign, x)
    return _step(y, dtype, np.asarray(up), np.asarray(down))


def _away(y: Array, dtype: DType, sign: Array, x: Array) -> Array:
    """Nearest with ties away from zero: a tie that went toward zero takes one step back."""
    toward = np.where(np.signbit(y), sign < 0, sign > 0)
    none = np.zeros(np.shape(y), bool)
    other = np.asarray(_step(y, dtype, np.ones(np.shape(y), bool), none)).astype(np.float64)
    tie = toward & ((x - np.asarray(y).astype(np.float64)) == (other - x))
    # Half the last step below overflow: the next code is infinity, and nearest-even already went there.
    return _step(y, dtype, tie, none)


# --- one IEEE operation with the sign of its error -------------------------------------------------------------------


def add_error(a: Array, b: Array) -> tuple[Array, Array]:
    """float64 a + b and the sign of its error."""
    s, e = two_sum(a, b)
    overflow = np.isinf(s) & np.isfinite(a) & np.isfinite(b)
    return s, np.where(overflow, -s, np.where(np.isfinite(s), e, 0.0))


def mul_error(a: Array, b: Array) -> tuple[Array, Array]:
    """float64 a * b and the sign of its error, for any exponents."""
    y = a * b
    ma, ea = np.frexp(a)
    mb, eb = np.frexp(b)
    p, e = two_prod(ma, mb)
    error = (p - np.ldexp(y, -(ea + eb))) + e
    ok = np.isfinite(a) & np.isfinite(b) & (a != 0) & (b != 0)
    return y, np.where(ok, error, 0.0)


def div_error(a: Array, b: Array) -> tuple[Array, Array]:
    """float64 a / b and the sign of its error."""
    q = a / b
    ma, ea = np.frexp(a)
    mb, eb = np.frexp(b)
    p, e = two_prod(np.ldexp(q, eb - ea), mb)
    remainder = np.where(np.isinf(q), -np.sign(q) * np.sign(mb), (ma - p) - e)
    ok = np.isfinite(a) & np.isfinite(b) & (a != 0) & (b != 0)
    return q, np.where(ok, remainder * np.sign(mb), 0.0)


def sqrt_error(a: Array) -> tuple[Array, Array]:
    """float64 square root and the sign of its error."""
    s = np.sqrt(a)
    m, e = np.frexp(a)
    half = (e + 1) // 2
    p, low = two_prod(np.ldexp(s, -half), np.ldexp(s, -half))
    ok = np.isfinite(a) & (a > 0)
    return s, np.where(ok, (np.ldexp(m, e - 2 * half) - p) - low, 0.0)


def round_result(s: Array, error: Array, dtype: DType, mode: RoundingMode) -> Array:
    """The result of an operation: float64 nearest `s` and the sign of its error, to `dtype` in `mode`."""
    if dtype is dt.float64:
        return s if mode is RN else _adjust(s, dtype, np.sign(error), mode)
    return narrow(to_odd(s, error), dtype, mode)


# --- fused multiply-add ----------------------------------------------------------------------------------------------


def fma_narrow(a: Array, b: Array, c: Array, dtype: DType, mode: RoundingMode) -> Array:
    """a * b + c of float32 values with one rounding to `dtype` (float32 or narrower): products are exact in float64."""
    product = np.multiply(a, b, dtype=np.float64)
    s, error = two_sum(product, np.asarray(c, np.float64))
    return narrow(to_odd(with_zero(s, product, c, mode), error), dtype, mode)


BLOCK = 1 << 14


def fma_float32(a: Array, b: Array, c: Array) -> Array:
    """a * b + c in float32, nearest even.

    The float64 sum of the exact product and c rounds on to float32 correctly unless it lies on a tie between two
    float32 values or below their normal range; those elements are done again with the error term. Works through
    cache-sized pieces, since float64 temporaries of a whole chunk cost more in page faults than in arithmetic.
    """
    a, b, c = np.broadcast_arrays(a, b, c)
    if a.size <= BLOCK:
        return _fma_piece(a, b, c)
    shape = a.shape
    rows = max(1, BLOCK * shape[0] // a.size)
    if rows == 1 and len(shape) > 1:
        return np.stack([fma_float32(a[i], b[i], c[i]) for i in range(shape[0])])
    out = np.empty(shape, np.float32)
    for i in range(0, shape[0], rows):
        out[i : i + rows] = _fma_piece(a[i : i + rows], b[i : i + rows], c[i : i + rows])
    return out


def _fma_piece(a: Array, b: Array, c: Array) -> Array:
    s = np.multiply(a, b, dtype=np.float64)
    s = s + c
    r = np.asarray(s.astype(np.float32))
    tie = (np.asarray(s).view(np.int64) & 0x1FFFFFFF) == 0x10000000
    tiny = np.abs(r) < np.float32(1.1754944e-38)
    risky = tie | (tiny & (s != 0))
    if risky.any():
        r[risky] = fma_narrow(a[risky], b[risky], c[risky], dt.float32, RN)
    return r


def fma_float64(a: Array, b: Array, c: Array, mode: RoundingMode) -> Array:
    """a * b + c in float64 with one rounding. Extreme exponents and directed modes go through exact fractions."""
    a, b, c = np.broadcast_arrays(np.asarray(a, np.float64), b, c)
    out = np.array(with_zero(a * b + c, a * b, c, mode))
    factors = np.isfinite(a) & np.isfinite(b)
    out = np.where(factors & np.isinf(c), c, out)
    inexact = factors & np.isfinite(c) & (a != 0) & (b != 0)
    if mode is RN:
        safe = inexact & _moderate(a) & _moderate(b) & (_moderate(c) | (c == 0))
        out = np.where(safe, _fma_moderate(a, b, c), out)
        inexact &= ~safe
    for i in map(tuple, np.argwhere(inexact)):  # a scalar has the index ()
        out[i] = fma_exact(float(a[i]), float(b[i]), float(c[i]), mode)
    return out


def _moderate(x: Array) -> Array:
    m = np.abs(x)
    return (m > 2.0**-400) & (m < 2.0**400)


def _fma_moderate(a: Array, b: Array, c: Array) -> Array:
    uh, ul = two_prod(a, b)
    th, tl = two_sum(c, ul)
    vh, vl = two_sum(uh, th)
    s, e = two_sum(tl, vl)
    return vh + to_odd(s, e)


def fma_exact(a: float, b: float, c: float, mode: RoundingMode) -> float:
    """One finite fused multiply-add through fractions."""
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return -0.0 if mode is RM else 0.0
    try:
        y = float(exact)
    except OverflowError:
        y = float("inf") if exact > 0 else float("-inf")
    if y == 0.0:
        y = 0.0 if exact > 0 else -0.0
    sign = 1 if y == float("-inf") or (y != float("inf") and exact > Fraction(y)) else -1
    if y not in (float("inf"), float("-inf")) and exact == Fraction(y):
        sign = 0
    return float(_adjust(np.float64(y), dt.float64, np.float64(sign), mode) if mode is not RN else y)
