"""asin, acos, atan and atan2 of float32 and float64."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

from tilewright.backend_ptx.mathlib.vec import Vec, fma, odd_series, polynomial, where

# asin(x) = x + x*s*P(s), s = x*x, on |x| <= 1/2.
ASIN32 = (0.16666752099990845, 0.07495306432247162, 0.045469772070646286, 0.024181123822927475, 0.04216480255126953)
ASIN64 = (0.1666666666666676, 0.07499999999970765, 0.04464285717463893, 0.030381942706701703, 0.0223722150134255,
          0.0173516116177166, 0.01398082464154772, 0.011398883104929565, 0.010780395657752458, 0.003705933659068151,
          0.02170846904020237, -0.021000344981083992, 0.03262933627886362)
# atan(t) = t + t*s*P(s), s = t*t, on 0 <= t <= 1.
ATAN32 = (
    -0.333333, 0.1999853, -0.14264016, 0.10950881, -0.08399314, 0.057881624, -0.031097304, 0.010868877, -0.0017828617)
ATAN64 = (-0.3333333333333307, 0.19999999999951892, -0.14285714282600984, 0.1111111100781309, -0.09090907017321308,
          0.07692280010762462, -0.06666405487834383, 0.05880536470747083, -0.052535577504834646, 0.04722458608696266,
          -0.04219552214208888, 0.03665008459642575, -0.029918285847075458, 0.022005270912903635, -0.013923313782615802,
          0.007215887216183519, -0.002897010879338116, 0.0008364958425490755, -0.0001535115537233603,
          1.3386770252135538e-05)
# pi as the sum of two numbers of the format.
PI32 = (3.1415927410125732, -8.742277657347586e-08)
PI64 = (3.141592653589793, 1.2246467991473532e-16)


def _small_asin(x: Vec, coefficients: Sequence[float]) -> tuple[Vec, Vec]:
    """Whether a = |x| is at most 1/2, and asin(x) there; beyond it asin(sqrt((1 - a) / 2)), a NaN for a above 1."""
    a = abs(x)
    inner = a.le(0.5)
    s = where(inner, x * x, fma(a, -0.5, 0.5))
    return inner, odd_series(where(inner, x, s.intrinsic("llvm.sqrt")), s, coefficients)


def _asin(x: Vec, coefficients: Sequence[float], pi: tuple[float, float]) -> Vec:
    """Beyond 1/2 from asin(a) = pi/2 - 2*asin(sqrt((1 - a) / 2))."""
    inner, value = _small_asin(x, coefficients)
    outer = pi[0] / 2 - (value * 2.0 - pi[1] / 2)
    return where(inner, value, where(x.isnan(), x, outer).copysign(x))


def _acos(x: Vec, coefficients: Sequence[float], pi: tuple[float, float]) -> Vec:
    """pi/2 - asin(x); beyond 1/2 twice the small angle, or pi without it."""
    inner, value = _small_asin(x, coefficients)
    middle = pi[0] / 2 - (value - pi[1] / 2)
    twice = value * 2.0
    outer = where(x.lt(0.0), pi[0] - (twice - pi[1]), twice)
    return where(inner, middle, outer)


def _atan(x: Vec, coefficients: Sequence[float], pi: tuple[float, float]) -> Vec:
    """Beyond 1 from atan(a) = pi/2 - atan(1 / a)."""
    a = abs(x)
    outer = a.gt(1.0)
    t = where(outer, 1.0 / a, a)
    value = odd_series(t, t * t, coefficients)
    return where(outer, (pi[0] / 2 - value) + pi[1] / 2, value).copysign(x)


def atan2(y: Vec, x: Vec, coefficients: Sequence[float], pi: tuple[float, float]) -> Vec:
    """The angle of the point (x, y), in [-pi, pi], with the special cases of IEEE 754."""
    ax, ay = abs(x), abs(y)
    small, large = ax.min(ay), ax.max(ay)
    same = ax.eq(ay) & ax.ne(0.0)  # also when both are infinite
    t = where(same, 1.0, small / where(large.eq(0.0), 1.0, large))
    s = t * t
    angle = fma(polynomial(s, coefficients) * s, t, t)
    angle = where(ay.gt(ax), (pi[0] / 2 - angle) + pi[1] / 2, angle)
    angle = where(x.bits().lt(0), (pi[0] - angle) + pi[1], angle)
    angle = where(x.isnan() | y.isnan(), math.nan, angle)
    return angle.copysign(y)


def functions(asin: Sequence[float], atan: Sequence[float], pi: tuple[float, float]) -> dict[str, Callable[[Vec], Vec]]:
    """The angles whose sine, cosine and tangent are x, in [-pi/2, pi/2], acos in [0, pi]; NaN where there is none."""
    return {"asin": partial(_asin, coefficients=asin, pi=pi), "acos": partial(_acos, coefficients=asin, pi=pi),
            "atan": partial(_atan, coefficients=atan, pi=pi)}
