"""log and log2: of float32 by a polynomial (lg2.approx is far off near 1), of float64 by the series of atanh."""

from __future__ import annotations

import math

from tilewright.backend_ptx.mathlib.vec import Vec, choose, fma, polynomial, where

INFINITY_BITS = {"float": 0x7F800000, "double": 0x7FF0000000000000}
TWO_THIRDS_BITS = {"float": 0x3F2AAAAB, "double": 0x3FE5555555555555}


def edges(x: Vec, result: Vec) -> Vec:
    """The values at 0 (-inf), inf, negative numbers and NaN (NaN); `result` elsewhere."""
    odd_one = x.bits().compare("uge", INFINITY_BITS[x.elem])  # inf, NaN, and everything with the sign bit
    result = where(odd_one, fma(x, math.inf, math.inf), result)  # inf; NaN; -inf + inf = NaN
    return where(x.eq(0.0), -math.inf, result)


# ---- float32 ----------------------------------------------------------------------------------------------

# (log(1 + f) - f) / f**2 and (log2(1 + f) - LOG2E * f) / f on [-1/3, 1/3], minimax in the result's relative error.
LOG_32 = (-0.5, 0.33333215, -0.25000852, 0.2001052, -0.1662207, 0.14002006, -0.13086525, 0.14011823, -0.087018624)
LOG2_32 = (
    1.925963e-08, -0.7213475, 0.4808967, -0.36068404, 0.2886818, -0.23980539, 0.20218034, -0.18972026, 0.20124955,
    -0.11867129)
LOG2E_32 = 1.4426950216293335
LN2_32 = 0.6931471824645996


def split32(x: Vec) -> tuple[Vec, Vec]:
    """(e, f): x = 2**e * (1 + f) with f in [-1/3, 1/3), for positive finite x; e is a float."""
    subnormal = x.lt(2.0**-126)
    bits = where(subnormal, x * 2.0**23, x).bits()
    exponent = (bits - TWO_THIRDS_BITS["float"]) & -(1 << 23)
    f = (bits - exponent).as_float("float") - 1.0
    e = fma(exponent.cast("sitofp", "float"), 2.0**-23, choose(subnormal, x, -23.0, 0.0))
    return e, f


def log_32(x: Vec) -> Vec:
    """Natural logarithm."""
    return assemble32(x, *split32(x))


def assemble32(x: Vec, e: Vec, f: Vec) -> Vec:
    """log(2**e * (1 + f)), with the edges of log(x)."""
    result = fma(polynomial(f, LOG_32) * f, f, f)
    return edges(x, fma(e, LN2_32, result))


def log2_32(x: Vec) -> Vec:
    """Logarithm to base 2, exact for powers of two."""
    e, f = split32(x)
    return edges(x, e + fma(f, LOG2E_32, polynomial(f, LOG2_32) * f))


# ---- float64 ----------------------------------------------------------------------------------------------

# log((1 + s) / (1 - s)) = s * (2 + q*LOG(q)), q = s*s, |s| <= 0.2.
LOG_64 = (0.6666666666667272, 0.3999999999615211, 0.2857142939728391, 0.22222138320176227, 0.18186364131423124,
          0.15250016514856993, 0.15369601199760596)
# ln(2) in two parts, the first short enough for its product with an exponent to be exact.
LN2_SHORT, LN2_REST = 0.6931471803691238, 1.9082149292705877e-10
LOG2E, LOG2E_LOW = 1.4426950408889634, 2.0355273740931033e-17


def split64(x: Vec) -> tuple[Vec, Vec]:
    """(e, f): x = 2**e * (1 + f) with f in [-1/3, 1/3), for positive finite x; e is a float64."""
    subnormal = x.lt(2.0**-1022)
    bits = where(subnormal, x * 2.0**52, x).bits()
    exponent = (bits - TWO_THIRDS_BITS["double"]) >> 52
    f = (bits - (exponent << 52)).as_float("double") - 1.0
    e = exponent.cast("trunc", "i32").cast("sitofp", "double") + choose(subnormal, x, -52.0, 0.0)
    return e, f


def correction(f: Vec) -> tuple[Vec, Vec]:
    """(h, c): log(1 + f) = f - (h - c), with h = f*f/2 and c of order f**3."""
    s = f / (f + 2.0)
    q = s * s
    half_square = f * f * 0.5
    return half_square, s * fma(polynomial(q, LOG_64), q, half_square)


def log_64(x: Vec) -> Vec:
    """Natural logarithm."""
    return assemble64(x, *split64(x))


def assemble64(x: Vec, e: Vec, f: Vec) -> Vec:
    """log(2**e * (1 + f)), with the edges of log(x)."""
    half_square, c = correction(f)
    small = half_square - fma(e, LN2_REST, c)
    return edges(x, fma(e, LN2_SHORT, f - small))


def log2_64(x: Vec) -> Vec:
    """Logarithm to base 2, exact for powers of two."""
    e, f = split64(x)
    half_square, c = correction(f)
    # log(1 + f) as high + low, so that the product with log2(e) and the sum with e lose nothing.
    high = f - half_square
    low = (f - high) - half_square + c
    product = high * LOG2E
    rest = fma(high, LOG2E, -product) + fma(low, LOG2E, high * LOG2E_LOW)
    total = e + product
    return edges(x, total + (((e - total) + product) + rest))
