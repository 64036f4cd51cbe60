"""float32 log and log2 by a polynomial: lg2.approx is far off near 1."""

from __future__ import annotations

import math

from tilewright.backend_ptx.mathlib.vec import Vec, choose, fma, polynomial, where

# (log(1 + f) - f) / f**2 and (log2(1 + f) - LOG2E * f) / f on [-1/3, 1/3], minimax in the result's relative error.
LOG = (
    -0.5, 0.3333321511745453, -0.2500085234642029, 0.2001052051782608, -0.16622069478034973, 0.14002005755901337,
    -0.13086524605751038, 0.14011822640895844, -0.08701862394809723,
)
LOG2 = (
    1.925963033500011e-08, -0.7213475108146667, 0.4808967113494873, -0.36068403720855713, 0.2886818051338196,
    -0.23980538547039032, 0.20218034088611603, -0.1897202581167221, 0.20124955475330353, -0.11867129057645798,
)
LOG2E = 1.4426950216293335
LN2 = 0.6931471824645996
TWO_THIRDS_BITS = 0x3F2AAAAB
TINY = 2.0**-126
INFINITY_BITS = 0x7F800000


def split(x: Vec) -> tuple[Vec, Vec]:
    """(e, f): x = 2**e * (1 + f) with f in [-1/3, 1/3), for positive finite x; e is a float."""
    subnormal = x.lt(TINY)
    bits = where(subnormal, x * 2.0**23, x).bits()
    exponent = (bits - TWO_THIRDS_BITS) & -(1 << 23)
    f = (bits - exponent).as_float("float") - 1.0
    e = fma(exponent.cast("sitofp", "float"), 2.0**-23, choose(subnormal, x, -23.0, 0.0))
    return e, f


def edges(x: Vec, result: Vec) -> Vec:
    """The values at 0 (-inf), inf, negative numbers and NaN (NaN); `result` elsewhere."""
    odd_one = x.bits().compare("uge", INFINITY_BITS)  # inf, NaN, and everything with the sign bit
    result = where(odd_one, fma(x, math.inf, math.inf), result)  # inf; NaN; -inf + inf = NaN
    return where(x.eq(0.0), -math.inf, result)


def log(x: Vec) -> Vec:
    """Natural logarithm."""
    e, f = split(x)
    result = fma(polynomial(f, LOG) * f, f, f)
    return edges(x, fma(e, LN2, result))


def log2(x: Vec) -> Vec:
    """Logarithm to base 2, exact for powers of two."""
    e, f = split(x)
    result = fma(f, LOG2E, polynomial(f, LOG2) * f)
    return edges(x, e + result)
