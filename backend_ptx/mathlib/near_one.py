"""log1p and expm1 of float32 and float64: log and exp without the loss of digits next to 1."""

from __future__ import annotations

from tilewright.backend_ptx.mathlib import exp32, exp64, log
from tilewright.backend_ptx.mathlib.vec import Vec, fma, polynomial, two_to, where

# expm1(r) = r + r*r*EXPM1(r) on |r| <= ln(2) / 2, in float32.
EXPM1 = (0.5, 0.16666666, 0.041666493, 0.008333546, 0.0013932327, 0.00019761635)
# ln(2) as the sum of two floats, the first with 15 bits: its product with an exponent is exact.
LN2_SHORT, LN2_REST = 0.693145751953125, 1.42860677e-06


def log1p_32(x: Vec) -> Vec:
    """log(1 + x)."""
    u = x + 1.0
    exponent = (u.bits() - log.TWO_THIRDS_BITS["float"]) & -(1 << 23)
    # 1 + x = 2**e * (1 + f) with f = x * 2**-e + (2**-e - 1): both parts are exact where it matters.
    scaled = (x.bits() - exponent).as_float("float")
    shift = where(exponent.gt(64 << 23), -1.0, (0x3F800000 - exponent).as_float("float") - 1.0)
    f = where(exponent.eq(0), x, scaled + shift)
    e = exponent.cast("sitofp", "float") * 2.0**-23
    return log.assemble32(u, e, f).copysign(x)


def log1p_64(x: Vec) -> Vec:
    """The same in float64."""
    u = x + 1.0
    exponent = (u.bits() - log.TWO_THIRDS_BITS["double"]) >> 52
    scaled = (x.bits() - (exponent << 52)).as_float("double")
    shift = where(exponent.gt(64), -1.0, ((1023 - exponent) << 52).as_float("double") - 1.0)
    f = where(exponent.eq(0), x, scaled + shift)
    e = exponent.cast("trunc", "i32").cast("sitofp", "double")
    return log.assemble64(u, e, f).copysign(x)


def _scaled(x: Vec, p: Vec, n: Vec, scale: Vec) -> Vec:
    """(1 + p) * 2**n - 1 for x. `scale` is 2**(n-1), which the largest n has too: the last doubling alone overflows."""
    half = fma(p, scale, scale - 0.5)
    return where(x.isnan(), x, where(n.eq(0.0), p, half + half).copysign(x))


def expm1_32(x: Vec) -> Vec:
    """e**x - 1."""
    bounded = x.max(-30.0).min(88.9)
    shifted = fma(bounded, exp32.LOG2E, exp32.MAGIC)
    whole = shifted - exp32.MAGIC
    r = fma(whole, -LN2_REST, fma(whole, -LN2_SHORT, bounded))
    p = fma(polynomial(r, EXPM1) * r, r, r)
    scale = ((shifted.bits() << 23) + (126 << 23)).as_float("float")
    return _scaled(x, p, whole, scale)


def expm1_64(x: Vec) -> Vec:
    """The same in float64."""
    bounded = x.max(-60.0).min(710.0)
    whole, n = exp64.whole_part(bounded * exp64.LOG2E)
    r = fma(whole, -exp64.LN2_LOW, fma(whole, -exp64.LN2, bounded))
    p = fma(polynomial(r, exp64.EXP), r * r, r)
    return _scaled(x, p, whole, two_to(n - 1, "double"))
