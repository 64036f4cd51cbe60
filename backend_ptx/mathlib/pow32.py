"""float32 pow: log2 of the base in two floats, times the exponent, then exp2."""

from __future__ import annotations

import math

from tilewright.backend_ptx.mathlib.exp32 import MAGIC, ex2, rcp
from tilewright.backend_ptx.mathlib.log32 import split
from tilewright.backend_ptx.mathlib.vec import Vec, fma, like, polynomial, where

# log2((1 + s) / (1 - s)) = s * (C1 + q*(C3 + q*R(q))), q = s*s; C1 = 2/ln(2) and C3 = C1/3 in two floats each.
C1, C1_LOW = 2.885390043258667, 3.851926067000022e-08
C3, C3_LOW = 0.9617967009544373, -7.028461812552678e-09
R = (0.5770837068557739, 0.4115338623523712, 0.34448355436325073)

Pair = tuple[Vec, Vec]  # a value as the unevaluated sum of two, the second below half an ulp of the first


def fast_sum(a: Vec, b: Vec) -> Pair:
    """a + b exactly, when a is zero or |a| >= |b|."""
    total = a + b
    return total, b - (total - a)


def times(a: Pair, b: Pair) -> Pair:
    """The product of two pairs, good to about 2**-44 relative (float32)."""
    high = a[0] * b[0]
    return high, fma(a[0], b[0], -high) + fma(a[0], b[1], a[1] * b[0])


def log2_pair(x: Vec) -> Pair:
    """log2 of a positive finite x in two floats."""
    e, f = split(x)
    ratio = _ratio(f)
    square = times(ratio, ratio)
    tail = polynomial(square[0], R) * square[0]
    high, low = fast_sum(like(x, C3), tail)
    inner = times(square, (high, low + C3_LOW))
    high, low = fast_sum(like(x, C1), inner[0])
    high, low = times(ratio, (high, low + (inner[1] + C1_LOW)))
    total, rest = fast_sum(e, high)
    return fast_sum(total, rest + low)


def _ratio(f: Vec) -> Pair:
    """f / (2 + f) in two floats, |f| <= 1/3."""
    d = f + 2.0
    d_low = f - (d - 2.0)
    inverse = rcp(d)
    s = f * inverse
    return s, fma(-s, d_low, fma(-s, d, f)) * inverse


def exp2_pair(high: Vec, low: Vec) -> Vec:
    """2**(high + low), correctly scaled when the result is subnormal or overflows."""
    sane = abs(high).lt(250.0)
    low = where(sane, low, 0.0)  # of an overflowed product: NaN
    high = where(high.isnan(), high, high.max(-250.0).min(250.0))
    shifted = high + MAGIC
    whole = shifted - MAGIC
    mantissa = ex2((high - whole) + low)
    n = shifted.bits() - 0x4B400000
    first = n >> 1
    return mantissa * _two_to(first) * _two_to(n - first)


def _two_to(n: Vec) -> Vec:
    return ((n + 127) << 23).as_float("float")


def pow(x: Vec, y: Vec) -> Vec:
    """x ** y with the special cases of IEEE 754 pow."""
    a = abs(x)
    high, low = log2_pair(a)
    high = where(a.eq(0.0), -math.inf, where(a.eq(math.inf), math.inf, high))
    product = high * y
    rest = fma(high, y, -product) + low * y
    return special_cases(x, y, exp2_pair(product, rest))


def special_cases(x: Vec, y: Vec, magnitude: Vec) -> Vec:
    """x ** y from |x| ** y (of which the value for |x| = 1 and for NaN does not matter). Any float width."""
    half = y * 0.5
    whole = y.intrinsic("llvm.floor").eq(y)  # true for infinities
    odd = whole & half.intrinsic("llvm.floor").ne(half)
    negative = x.bits().lt(0)
    result = where(negative & odd, -magnitude, magnitude)
    finite_negative = x.lt(0.0) & x.gt(-math.inf)
    result = where(finite_negative & whole.invert(), math.nan, result)
    result = where(x.isnan() | y.isnan(), math.nan, result)
    one = x.eq(1.0) | y.eq(0.0) | (x.eq(-1.0) & abs(y).eq(math.inf))
    return where(one, 1.0, result)
