"""float64 sin, cos and tan."""

from __future__ import annotations

import math

from tilewright.backend_ptx.mathlib.exp64 import MAGIC
from tilewright.backend_ptx.mathlib.trig import Trigonometry, bit_window
from tilewright.backend_ptx.mathlib.vec import Vec, fma, odd_series, polynomial, where

PIO2 = (1.5707963267948966, 6.123233995736765e-17, 1.0828566739219139e-32)
LIMIT = 2.0**30
# A zero word and the first 1216 bits of 2/pi, most significant first.
TWO_OVER_PI = (0, 0xA2F9836E4E441529, 0xFC2757D1F534DDC0, 0xDB6295993C439041, 0xFE5163ABDEBBC561, 0xB7246E3A424DD2E0,
               0x06492EEA09D1921C, 0xFE1DEB1CB129A73E, 0xE88235F52EBB4484, 0xE99C7026B45F7E41, 0x3991D639835339F4,
               0x9C845F8BBDF9283B, 0x1FF897FFDE05980F, 0xEF2F118B5A0A6D1F, 0x6D367ECF27CB09B7, 0x4F463F669E5FEA2D,
               0x7527BAC7EBE5F17B, 0x3D0739F78A5292EA, 0x6BFB5FB11F8D5D08, 0x56033046FC7B6BAB)
# With s = r * r on |r| <= pi/4: sin(r) = r + r*s*SIN(s), cos(r) = 1 + s*COS(s).
SIN = (-0.1666666666666663, 0.00833333333332184, -0.0001984126982935854, 2.7557313538522992e-06,
       -2.5050734391399845e-08, 1.589543345404188e-10)
COS = (-0.5, 0.041666666666666595, -0.0013888888888873338, 2.4801587288997485e-05, -2.7557314215300887e-07,
       2.087570511528654e-09, -1.1358732791354974e-11)


def reduce_large(x: Vec) -> tuple[Vec, Vec]:
    """q and r of one large argument (a scalar): the fraction of x * 2/pi from the 192 bits of 2/pi that matter."""
    bits = x.bits()
    mantissa = (bits & (1 << 52) - 1) | 1 << 52
    exponent = (bits.lshr(52) & 0x7FF) - 1075  # x = mantissa * 2**exponent, -22 <= exponent <= 971
    # Bit k of 2/pi weighs 2**-k: those with k <= exponent - 2 give whole turns, and the table begins with 64 zeros.
    high, middle, low = bit_window(exponent + 62, TWO_OVER_PI, 3, last=16)
    # The product modulo 4 quarter turns as upper * 2**64 + lower, in units of 2**-126 quarter turns.
    lower = mantissa * middle + _multiply_high(mantissa, low)
    carry = lower.compare("ult", mantissa * middle).cast("zext", "i64")
    upper = mantissa * high + _multiply_high(mantissa, middle) + carry
    q = (upper + (1 << 61)).lshr(62).cast("trunc", "i32")
    r = _to_radians((upper << 2) | lower.lshr(62), lower << 2)
    r = where(abs(x).eq(math.inf), math.nan, r)
    negative = bits.lt(0)
    return where(negative, 0 - q, q), where(negative, -r, r)


def _multiply_high(a: Vec, b: Vec) -> Vec:
    """The upper half of the unsigned product."""
    return a.lanewise("llvm.nvvm.mulhi.ull", b)


def _to_radians(upper: Vec, lower: Vec) -> Vec:
    """(upper * 2**64 + lower) * 2**-128 quarter turns, a signed fraction, in radians with one rounding of note."""
    top = (upper & -(1 << 11)).cast("sitofp", "double") * 2.0**-64  # 53 bits: exact
    rest = (((upper & (1 << 11) - 1) << 53) | lower.lshr(11)).cast("uitofp", "double") * 2.0**-117
    product = top * PIO2[0]
    return product + fma(rest, PIO2[0], fma(top, PIO2[1], fma(top, PIO2[0], -product)))


def _sin_and_cos(r: Vec) -> tuple[Vec, Vec]:
    """Both of them, for |r| <= pi/4."""
    s = r * r
    return odd_series(r, s, SIN), fma(polynomial(s, COS), s, 1.0)


def sin_quadrant(q: Vec, r: Vec) -> Vec:
    """sin(q * pi/2 + r)."""
    sine, cosine = _sin_and_cos(r)
    value = where((q & 1).ne(0), cosine, sine)
    return where((q & 2).ne(0), -value, value)


def tan_quadrant(q: Vec, r: Vec) -> Vec:
    """tan(q * pi/2 + r)."""
    sine, cosine = _sin_and_cos(r)
    odd = (q & 1).ne(0)
    return where(odd, -cosine, sine) / where(odd, sine, cosine)


TRIG64 = Trigonometry(MAGIC, PIO2, LIMIT, reduce_large, sin_quadrant, tan_quadrant)
