"""erf and erfc of float32 and float64: a polynomial near zero, the exponential elsewhere."""

from __future__ import annotations

from collections.abc import Callable

from tilewright.backend_ptx.mathlib import exp32, exp64
from tilewright.backend_ptx.mathlib.exp32 import rcp
from tilewright.backend_ptx.mathlib.vec import Vec, fma, polynomial, where


def _gauss(a: Vec, exp: Callable[[Vec], Vec]) -> tuple[Vec, Vec]:
    """(power, t): exp(-a*a) is power * (1 + t), where t makes good the square's rounding error."""
    square = a * a
    t = fma(-a, a, square)
    return exp(-square), t


# ---- float32 ----------------------------------------------------------------------------------------------------

# erf(x) = x + x*ERF32(x*x) on |x| <= 0.77.
ERF32 = (0.12837908, -0.3761189, 0.112731546, -0.026336063, 0.0041306)
# erf(x) = 1 - 2**RISE32(x) on 0.77 <= x. Beyond 3.9 the power is too small to count; RISE32 falls for ever, so that no
# argument needs a bound.
RISE32 = (-0.0016108837, -1.620211, -0.93282586, -0.13571763, 0.023951752, -0.0020035168)
# erfc(a) = 2**(a * FALL32(a)) on 0 <= a, within 2**-17 of it or 2**-23, whichever is more; it falls for ever, too.
FALL32 = (-1.6276258, -0.91995436, -0.14624356, 0.028023256, -0.0026023974)
# (1 + 2*a) * exp(a*a) * erfc(a) = 1 + TAIL32(q), q = (a - 2) / (a + 2), on 0 <= a <= 11 (the form is Shepherd's and
# Laframboise's, Mathematics of Computation 36, 1981).
TAIL32 = (0.2769784, -0.09276395, -0.16603176, 0.16405532, -0.054200906, -0.008059804, 0.008619431, 0.0013092079,
          -0.0012155195, -0.00039110298)


def erf_32(x: Vec) -> Vec:
    """The error function, within 2 ulp of the nearest number: 2.26 ulp from the exact one at most, with the ex2 of an
    H100. One more coefficient each would halve that; epilogues are bound by instructions."""
    a = abs(x)
    large = 1.0 - exp32.ex2(polynomial(a, RISE32))
    # + 0.0 keeps the sign of -0.
    near = fma(polynomial(x * x, ERF32), x, x)
    return where(a.gt(0.77), large.copysign(x), near)


def erf_beside_one(x: Vec) -> Vec:
    """The error function in 8 instructions, for 1 + erf(x): this sum is within 104 ulp, or 3.4 * 2**-24 where it is
    small, as near -1 it is by `erf_32` (2.8 * 2**-24). Zero and infinities are exact."""
    a = abs(x)
    return (1.0 - exp32.ex2(polynomial(a, FALL32) * a)).copysign(x)


def erfc_32(x: Vec) -> Vec:
    """1 - erf(x), without the cancellation; within 4 ulp. Below 2**-149 it is zero."""
    a = abs(x)
    bounded = a.min(10.5)
    denominator = bounded + 2.0
    inverse = rcp(denominator)
    q = (bounded - 2.0) * inverse
    # One step towards the quotient: q + inverse * (a - 2 - q * (a + 2)).
    q = fma(inverse, fma(q + 1.0, -2.0, fma(-q, bounded, bounded)), q)
    p = polynomial(q, TAIL32)
    # (1 + p) / (1 + 2a), rounded once.
    inverse = rcp(fma(bounded, 2.0, 1.0))
    ratio = fma(p, inverse, inverse)
    rest = fma(ratio * -2.0, bounded, 1.0) + (p - ratio)
    ratio = fma(rest, inverse, ratio)
    power, t = _gauss(bounded, exp32.exp)
    tail = fma(ratio, power, ratio * power * t)
    result = where(x.lt(0.0), 2.0 - tail, tail)
    return where(x.isnan(), x, result)


# ---- float64 ----------------------------------------------------------------------------------------------------

# erf(x) = x + x*ERF64(x*x) on |x| <= 1.
ERF64 = (0.12837916709551256, -0.3761263890318352, 0.11283791670944163, -0.026866170643109154, 0.005223977606105796,
         -0.0008548325928929111, 0.00012055293570481563, -1.4924712256159745e-05, 1.6447131775851085e-06,
         -1.6206320154883823e-07, 1.3711025384511537e-08, -7.77957954100497e-10)
# (1 + 2*a) * exp(a*a) * erfc(a) = 1 + TAIL64(q), q = (a - 4) / (a + 4), on 0 <= a <= 27.3.
TAIL64 = (0.2329951186255525, -0.13962111684056286, 0.015379652102620097, 0.0680970542547338, -0.10103906603632111,
          0.09373283499690746, -0.06633036581209453, 0.03716751556078681, -0.016197734054067964, 0.005031969770141276,
          -0.0007577733658553372, -0.00019925557881513874, 0.0001506223084190137, -2.4402949421813877e-05,
          -1.1224867426927475e-05, 5.7174722511573145e-06, 3.013404666432406e-07, -8.347065937149335e-07,
          6.284038567499692e-08, 1.1509564276981935e-07, -7.837588815977111e-09, -1.3622122372870938e-08,
          -1.791141868349568e-09)


def _tail(a: Vec) -> Vec:
    """erfc of a number that is not negative."""
    bounded = a.min(27.5)  # beyond it the nearest value is zero
    denominator = bounded + 4.0
    q = (bounded - 4.0) / denominator
    # The quotient's own error counts: its remainder gives one more step.
    q = q + fma(q + 1.0, -4.0, fma(-q, bounded, bounded)) / denominator
    p = polynomial(q, TAIL64)
    wide = fma(bounded, 2.0, 1.0)
    ratio = (1.0 + p) / wide
    # What 1 + p and the quotient lose to their roundings.
    rest = fma(ratio * -2.0, bounded, 1.0) + (p - ratio)
    power, t = _gauss(bounded, exp64.exp)
    ratio = ratio + rest / wide
    return fma(ratio, power, ratio * power * t)


def erf_64(x: Vec) -> Vec:
    """The error function."""
    a = abs(x)
    near = fma(polynomial(x * x, ERF64), x, x)
    return where(a.gt(1.0), where(x.isnan(), x, 1.0 - _tail(a)).copysign(x), near)


def erfc_64(x: Vec) -> Vec:
    """1 - erf(x), without the cancellation."""
    tail = _tail(abs(x))
    return where(x.isnan(), x, where(x.lt(0.0), 2.0 - tail, tail))
