"""asin, acos and atan of float32 and float64."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from tilewright.backend_ptx.mathlib.vec import Vec, fma, polynomial, where

# asin(x) = x + x*s*P(s), s = x*x, on |x| <= 1/2.
ASIN32 = (
    0.16666752099990845, 0.07495306432247162, 0.045469772070646286, 0.024181123822927475, 0.04216480255126953,
)
ASIN64 = (
    0.1666666666666676, 0.07499999999970765, 0.04464285717463893, 0.030381942706701703, 0.0223722150134255,
    0.0173516116177166, 0.01398082464154772, 0.011398883104929565, 0.010780395657752458, 0.003705933659068151,
    0.02170846904020237, -0.021000344981083992, 0.03262933627886362,
)


def _series(x: Vec, s: Vec, coefficients: Sequence[float]) -> Vec:
    """x + x*s*P(s); + 0.0 makes the product of x = -0 +0, so that the sum is -0."""
    return fma(fma(polynomial(s, coefficients), s, 0.0), x, x)


def _asin(x: Vec, coefficients: Sequence[float], pi: tuple[float, float]) -> Vec:
    """Beyond 1/2 from asin(a) = pi/2 - 2*asin(sqrt((1 - a) / 2)); beyond 1 the root is a NaN."""
    a = abs(x)
    inner = a.le(0.5)
    s = where(inner, x * x, fma(a, -0.5, 0.5))
    base = where(inner, x, s.intrinsic("llvm.sqrt"))
    value = _series(base, s, coefficients)
    outer = pi[0] / 2 - (value * 2.0 - pi[1] / 2)
    return where(inner, value, where(x.isnan(), x, outer).copysign(x))


def _acos(x: Vec, coefficients: Sequence[float], pi: tuple[float, float]) -> Vec:
    """pi/2 - asin(x); beyond 1/2 twice the small angle, or pi without it."""
    a = abs(x)
    inner = a.le(0.5)
    s = where(inner, x * x, fma(a, -0.5, 0.5))
    base = where(inner, x, s.intrinsic("llvm.sqrt"))
    value = _series(base, s, coefficients)
    middle = pi[0] / 2 - (value - pi[1] / 2)
    twice = value * 2.0
    outer = where(x.lt(0.0), pi[0] - (twice - pi[1]), twice)
    return where(inner, middle, outer)


def _atan(x: Vec, coefficients: Sequence[float], pi: tuple[float, float]) -> Vec:
    """Beyond 1 from atan(a) = pi/2 - atan(1 / a)."""
    a = abs(x)
    outer = a.gt(1.0)
    t = where(outer, 1.0 / a, a)
    value = _series(t, t * t, coefficients)
    return where(outer, (pi[0] / 2 - value) + pi[1] / 2, value).copysign(x)


def functions(
    asin: Sequence[float], atan: Sequence[float], pi: tuple[float, float],
) -> dict[str, Callable[[Vec], Vec]]:
    """The angles whose sine, cosine and tangent are x, in [-pi/2, pi/2], acos in [0, pi]; NaN where there is none."""
    return {"asin": partial(_asin, coefficients=asin, pi=pi), "acos": partial(_acos, coefficients=asin, pi=pi),
            "atan": partial(_atan, coefficients=atan, pi=pi)}
