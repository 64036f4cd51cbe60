"""float64 log and log2, by the series of atanh."""

from __future__ import annotations

import math

from tilewright.backend_ptx.mathlib.vec import Vec, choose, fma, polynomial, where

# log((1 + s) / (1 - s)) = s * (2 + q*LOG(q)), q = s*s, |s| <= 0.2.
LOG = (
    0.6666666666667272, 0.3999999999615211, 0.2857142939728391, 0.22222138320176227, 0.18186364131423124,
    0.15250016514856993, 0.15369601199760596,
)
# ln(2) in two parts, the first short enough for its product with an exponent to be exact.
LN2_SHORT, LN2_REST = 0.6931471803691238, 1.9082149292705877e-10
LOG2E, LOG2E_LOW = 1.4426950408889634, 2.0355273740931033e-17
TWO_THIRDS_BITS = 0x3FE5555555555555
TINY = 2.0**-1022
INFINITY_BITS = 0x7FF0000000000000


def split(x: Vec) -> tuple[Vec, Vec]:
    """(e, f): x = 2**e * (1 + f) with f in [-1/3, 1/3), for positive finite x; e is a float64."""
    subnormal = x.lt(TINY)
    bits = where(subnormal, x * 2.0**52, x).bits()
    exponent = (bits - TWO_THIRDS_BITS) >> 52
    f = (bits - (exponent << 52)).as_float("double") - 1.0
    e = exponent.cast("trunc", "i32").cast("sitofp", "double") + choose(subnormal, x, -52.0, 0.0)
    return e, f


def edges(x: Vec, result: Vec) -> Vec:
    """The values at 0 (-inf), inf, negative numbers and NaN (NaN); `result` elsewhere."""
    odd_one = x.bits().compare("uge", INFINITY_BITS)  # inf, NaN, and everything with the sign bit
    result = where(odd_one, fma(x, math.inf, math.inf), result)  # inf; NaN; -inf + inf = NaN
    return where(x.eq(0.0), -math.inf, result)


def correction(f: Vec) -> tuple[Vec, Vec]:
    """(h, c): log(1 + f) = f - (h - c), with h = f*f/2 and c of order f**3."""
    s = f / (f + 2.0)
    q = s * s
    half_square = f * f * 0.5
    return half_square, s * fma(polynomial(q, LOG), q, half_square)


def log(x: Vec) -> Vec:
    """Natural logarithm."""
    e, f = split(x)
    half_square, c = correction(f)
    small = half_square - fma(e, LN2_REST, c)
    return edges(x, fma(e, LN2_SHORT, f - small))


def log2(x: Vec) -> Vec:
    """Logarithm to base 2, exact for powers of two."""
    e, f = split(x)
    half_square, c = correction(f)
    # log(1 + f) as high + low, so that the product with log2(e) and the sum with e lose nothing.
    high = f - half_square
    low = (f - high) - half_square + c
    product = high * LOG2E
    rest = fma(high, LOG2E, -product) + fma(low, LOG2E, high * LOG2E_LOW)
    total = e + product
    return edges(x, total + (((e - total) + product) + rest))
