"""float64 erf and erfc: a polynomial near zero, the exponential elsewhere."""

from __future__ import annotations

from tilewright.backend_ptx.mathlib.exp64 import exp
from tilewright.backend_ptx.mathlib.vec import Vec, fma, polynomial, where

# erf(x) = x + x*ERF(x*x) on |x| <= 1.
ERF = (
    0.12837916709551256, -0.3761263890318352, 0.11283791670944163, -0.026866170643109154, 0.005223977606105796,
    -0.0008548325928929111, 0.00012055293570481563, -1.4924712256159745e-05, 1.6447131775851085e-06,
    -1.6206320154883823e-07, 1.3711025384511537e-08, -7.77957954100497e-10,
)
# (1 + 2*a) * exp(a*a) * erfc(a) = 1 + TAIL(q), q = (a - 4) / (a + 4), on 0 <= a <= 27.3.
TAIL = (
    0.2329951186255525, -0.13962111684056286, 0.015379652102620097, 0.0680970542547338, -0.10103906603632111,
    0.09373283499690746, -0.06633036581209453, 0.03716751556078681, -0.016197734054067964, 0.005031969770141276,
    -0.0007577733658553372, -0.00019925557881513874, 0.0001506223084190137, -2.4402949421813877e-05,
    -1.1224867426927475e-05, 5.7174722511573145e-06, 3.013404666432406e-07, -8.347065937149335e-07,
    6.284038567499692e-08, 1.1509564276981935e-07, -7.837588815977111e-09, -1.3622122372870938e-08,
    -1.791141868349568e-09,
)


def _tail(a: Vec) -> Vec:
    """erfc of a number that is not negative."""
    bounded = a.min(27.5)  # beyond it the nearest value is zero
    denominator = bounded + 4.0
    q = (bounded - 4.0) / denominator
    # The quotient's own error counts: its remainder gives one more step.
    q = q + fma(q + 1.0, -4.0, fma(-q, bounded, bounded)) / denominator
    p = polynomial(q, TAIL)
    wide = fma(bounded, 2.0, 1.0)
    ratio = (1.0 + p) / wide
    # What 1 + p and the quotient lose to their roundings.
    rest = fma(ratio * -2.0, bounded, 1.0) + (p - ratio)
    square = bounded * bounded
    t = fma(-bounded, bounded, square)
    power = exp(-square)
    ratio = ratio + rest / wide
    return fma(ratio, power, ratio * power * t)


def erf(x: Vec) -> Vec:
    """The error function."""
    a = abs(x)
    near = fma(polynomial(x * x, ERF), x, x)
    return where(a.gt(1.0), where(x.isnan(), x, 1.0 - _tail(a)).copysign(x), near)


def erfc(x: Vec) -> Vec:
    """1 - erf(x), without the cancellation."""
    tail = _tail(abs(x))
    return where(x.isnan(), x, where(x.lt(0.0), 2.0 - tail, tail))
