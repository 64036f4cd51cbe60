"""pow of float32 and float64: log2 of the base in two numbers, times the exponent, then exp2."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from tilewright.backend_ptx.mathlib import exp32, exp64
from tilewright.backend_ptx.mathlib.log import split32, split64
from tilewright.backend_ptx.mathlib.vec import Vec, fma, like, polynomial, scale, where

Pair = tuple[Vec, Vec]  # a value as the unevaluated sum of two, the second below half an ulp of the first


@dataclass(frozen=True)
class Format:
    """What differs between the formats: log2((1 + s) / (1 - s)) = s * (C1 + q*(C3 + q*R(q))), q = s*s, where C1 is
    2/ln(2) and C3 is C1/3 in two numbers each; `split` of log, 1/x, and exp2 of a pair that scales what is subnormal or
    overflows."""

    c1: tuple[float, float]
    c3: tuple[float, float]
    r: tuple[float, ...]
    split: Callable[[Vec], Pair]
    reciprocal: Callable[[Vec], Vec]
    exp2: Callable[[Vec, Vec], Vec]

    def pow(self, x: Vec, y: Vec) -> Vec:
        """x ** y with the special cases of IEEE 754 pow."""
        a = abs(x)
        high, low = self._log2(a)
        high = where(a.eq(0.0), -math.inf, where(a.eq(math.inf), math.inf, high))
        product = high * y
        rest = fma(high, y, -product) + low * y
        return _special_cases(x, y, self.exp2(product, rest))

    def _log2(self, x: Vec) -> Pair:
        """log2 of a positive finite x in two numbers."""
        e, f = self.split(x)
        ratio = self._ratio(f)
        square = _times(ratio, ratio)
        high, low = _fast_sum(like(x, self.c3[0]), polynomial(square[0], self.r) * square[0])
        inner = _times(square, (high, low + self.c3[1]))
        high, low = _fast_sum(like(x, self.c1[0]), inner[0])
        high, low = _times(ratio, (high, low + (inner[1] + self.c1[1])))
        total, rest = _fast_sum(e, high)
        return _fast_sum(total, rest + low)

    def _ratio(self, f: Vec) -> Pair:
        """f / (2 + f) in two numbers, |f| <= 1/3."""
        d = f + 2.0
        d_low = f - (d - 2.0)
        inverse = self.reciprocal(d)
        s = f * inverse
        return s, fma(-s, d_low, fma(-s, d, f)) * inverse


def _fast_sum(a: Vec, b: Vec) -> Pair:
    """a + b exactly, when a is zero or |a| >= |b|."""
    total = a + b
    return total, b - (total - a)


def _times(a: Pair, b: Pair) -> Pair:
    """The product of two pairs, good to about 2**-44 relative (float32)."""
    high = a[0] * b[0]
    return high, fma(a[0], b[0], -high) + fma(a[0], b[1], a[1] * b[0])


def _exp2_32(high: Vec, low: Vec) -> Vec:
    """2**(high + low)."""
    sane = abs(high).lt(250.0)
    low = where(sane, low, 0.0)  # of an overflowed product: NaN
    high = where(high.isnan(), high, high.max(-250.0).min(250.0))
    shifted = high + exp32.MAGIC
    whole = shifted - exp32.MAGIC
    mantissa = exp32.ex2((high - whole) + low)
    return scale(mantissa, shifted.bits() - 0x4B400000)


def _exp2_64(high: Vec, low: Vec) -> Vec:
    """2**(high + low)."""
    sane = abs(high).lt(1500.0)  # beyond it the low part may be NaN
    return exp64.exp2_pair(high.max(-1500.0).min(1500.0), where(sane, low, 0.0))


def _special_cases(x: Vec, y: Vec, magnitude: Vec) -> Vec:
    """x ** y from |x| ** y (of which the value for |x| = 1 and for NaN does not matter). Any float width."""
    half = y * 0.5
    whole = y.intrinsic("llvm.floor").eq(y)  # true for infinities
    odd = whole & half.intrinsic("llvm.floor").ne(half)
    negative = x.bits().lt(0)
    result = where(negative & odd, -magnitude, magnitude)
    finite_negative = x.lt(0.0) & x.gt(-math.inf)
    result = where(finite_negative & (whole ^ True), math.nan, result)
    result = where(x.isnan() | y.isnan(), math.nan, result)
    one = x.eq(1.0) | y.eq(0.0) | (x.eq(-1.0) & abs(y).eq(math.inf))
    return where(one, 1.0, result)


POW32 = Format(
    (2.885390043258667, 3.851926067000022e-08), (0.9617967009544373, -7.028461812552678e-09),
    (0.5770837068557739, 0.4115338623523712, 0.34448355436325073), split32, exp32.rcp, _exp2_32)
POW64 = Format(
    (2.8853900817779268, 4.0710547481862066e-17), (0.9617966939259756, 5.0577616648125907e-17),
    (0.5770780163555814, 0.4121985831132676, 0.32059889752974674, 0.2623082374250842, 0.2219500738721673,
     0.19247200993727853, 0.1672421909264858, 0.1813711168019803), split64, lambda d: 1.0 / d, _exp2_64)
