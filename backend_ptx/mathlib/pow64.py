"""float64 pow: log2 of the base in two numbers, times the exponent, then exp2."""

from __future__ import annotations

import math

from tilewright.backend_ptx.mathlib.exp64 import exp2_pair
from tilewright.backend_ptx.mathlib.log64 import split
from tilewright.backend_ptx.mathlib.pow32 import Pair, fast_sum, special_cases, times
from tilewright.backend_ptx.mathlib.vec import Vec, fma, like, polynomial, where

# log2((1 + s) / (1 - s)) = s * (C1 + q*(C3 + q*R(q))), q = s*s; C1 = 2/ln(2) and C3 = C1/3 in two numbers each.
C1, C1_LOW = 2.8853900817779268, 4.0710547481862066e-17
C3, C3_LOW = 0.9617966939259756, 5.0577616648125907e-17
R = (
    0.5770780163555814, 0.4121985831132676, 0.32059889752974674, 0.2623082374250842, 0.2219500738721673,
    0.19247200993727853, 0.1672421909264858, 0.1813711168019803,
)


def log2_pair(x: Vec) -> Pair:
    """log2 of a positive finite x in two numbers."""
    e, f = split(x)
    ratio = _ratio(f)
    square = times(ratio, ratio)
    high, low = fast_sum(like(x, C3), polynomial(square[0], R) * square[0])
    inner = times(square, (high, low + C3_LOW))
    high, low = fast_sum(like(x, C1), inner[0])
    high, low = times(ratio, (high, low + (inner[1] + C1_LOW)))
    total, rest = fast_sum(e, high)
    return fast_sum(total, rest + low)


def _ratio(f: Vec) -> Pair:
    """f / (2 + f) in two numbers, |f| <= 1/3."""
    d = f + 2.0
    d_low = f - (d - 2.0)
    inverse = 1.0 / d
    s = f * inverse
    return s, fma(-s, d_low, fma(-s, d, f)) * inverse


def pow(x: Vec, y: Vec) -> Vec:
    """x ** y with the special cases of IEEE 754 pow."""
    a = abs(x)
    high, low = log2_pair(a)
    high = where(a.eq(0.0), -math.inf, where(a.eq(math.inf), math.inf, high))
    product = high * y
    rest = fma(high, y, -product) + low * y
    sane = abs(product).lt(1500.0)  # beyond it the rest may be NaN
    product = product.max(-1500.0).min(1500.0)
    return special_cases(x, y, exp2_pair(product, where(sane, rest, 0.0)))
