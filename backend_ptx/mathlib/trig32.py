"""float32 sin, cos and tan."""

from __future__ import annotations

import math

from tilewright.backend_ptx.mathlib.exp32 import MAGIC, rcp
from tilewright.backend_ptx.mathlib.trig import Trigonometry, bit_window
from tilewright.backend_ptx.mathlib.vec import Vec, choose, fma, polynomial, where

PIO2 = (1.570796251296997, 7.549789415861596e-08, 5.390302953474238e-15)
LIMIT = 105615.0  # where the quotient has 17 bits
# A zero word and the first 224 bits of 2/pi, most significant first.
TWO_OVER_PI = (0, 0xA2F9836E, 0x4E441529, 0xFC2757D1, 0xF534DDC0, 0xDB629599, 0x3C439041, 0xFE5163AB)
# With s = r * r on |r| <= pi/4: sin(r) = r + r*s*SIN(s), cos(r) = 1 + s*COS(s), tan(r) = r + r*s*TAN(s).
SIN = (-0.16666653752326965, 0.008332106284797192, -0.00019507882825564593)
COS = (-0.5, 0.04166664555668831, -0.0013887297827750444, 2.4430084522464313e-05)
TAN = (0.3333313, 0.13339539, 0.053349357, 0.024653297, 0.0027589109, 0.009600681)


def reduce_large(x: Vec) -> tuple[Vec, Vec]:
    """q and r of one large argument (a scalar): the fraction of x * 2/pi from the 96 bits of 2/pi that matter."""
    bits = x.bits()
    mantissa = ((bits & 0x7FFFFF) | 0x800000).cast("zext", "i64")
    exponent = (bits.lshr(23) & 0xFF) - 150  # x = mantissa * 2**exponent, -7 <= exponent <= 104
    # Bit k of 2/pi weighs 2**-k: those with k <= exponent - 2 give whole turns, and the table begins with 32 zeros.
    window = bit_window(exponent + 30, TWO_OVER_PI, 3, last=4)
    high, middle, low = (w.cast("zext", "i64") for w in window)
    # The product modulo 4 quarter turns, in units of 2**-62 quarter turns.
    turns = ((mantissa * high) << 32) + mantissa * middle + (mantissa * low).lshr(32)
    q = (turns + (1 << 61)).lshr(62).cast("trunc", "i32")
    fraction = (turns << 2).cast("sitofp", "double") * (math.pi / 2 * 2.0**-64)
    r = fraction.cast("fptrunc", "float")
    negative = bits.lt(0)
    r = where(abs(x).eq(math.inf), math.nan, r)
    return where(negative, 0 - q, q), where(negative, -r, r)


def sin_quadrant(q: Vec, r: Vec) -> Vec:
    """sin(q * pi/2 + r)."""
    s = r * r
    odd = (q & 1).ne(0)
    start = choose(odd, r, COS[3], 0.0)
    p = polynomial(s, [choose(odd, r, c, d) for c, d in zip(COS[:3], SIN, strict=True)], start)
    base = where(odd, 1.0, r)
    # + 0.0 makes the product of r = -0 and a negative coefficient +0, so that sin(-0) is -0.
    value = fma(fma(p, s, 0.0), base, base)
    return (value.bits() ^ ((q & 2) << 30)).as_float("float")


def tan_quadrant(q: Vec, r: Vec) -> Vec:
    """tan(q * pi/2 + r)."""
    s = r * r
    t = fma(polynomial(s, TAN) * s, r, r)
    inverse = rcp(t)
    inverse = fma(fma(-inverse, t, 1.0), inverse, inverse)
    return where((q & 1).ne(0), -inverse, t)


TRIG32 = Trigonometry(MAGIC, PIO2, LIMIT, reduce_large, sin_quadrant, tan_quadrant)
