"""float64 sinh, cosh and tanh: a polynomial near zero, the exponential elsewhere."""

from __future__ import annotations

from tilewright.backend_ptx.mathlib.exp64 import exp, half_exp
from tilewright.backend_ptx.mathlib.hyperbolic32 import odd_polynomial
from tilewright.backend_ptx.mathlib.vec import Vec, where

# f(x) = x + x*s*P(s), s = x*x: sinh on |x| <= 1, tanh on |x| <= 0.55.
SINH = (
    0.16666666666666666, 0.008333333333333573, 0.0001984126984106116, 2.7557319310090883e-06, 2.5052089412657217e-08,
    1.606133918299512e-10, 7.5032646281752e-13, 6.4753275746184665e-15,
)
TANH = (
    -0.333333333333333, 0.1333333333332658, -0.05396825396373783, 0.02186948838522456, -0.008863232591206784,
    0.0035920919261161156, -0.0014555421590303494, 0.0005884415761425251, -0.0002333739106730759,
    8.330508911253017e-05, -1.9487427526402828e-05,
)


def sinh(x: Vec) -> Vec:
    """Hyperbolic sine: e/2 - 1/(2e)."""
    half = half_exp(abs(x))
    large = half - 0.25 / half
    return where(abs(x).lt(1.0), odd_polynomial(x, SINH), large.copysign(x))


def cosh(x: Vec) -> Vec:
    """Hyperbolic cosine: e/2 + 1/(2e)."""
    half = half_exp(abs(x))
    return half + 0.25 / half


def tanh(x: Vec) -> Vec:
    """Hyperbolic tangent: 1 - 2 / (e**(2|x|) + 1)."""
    a = abs(x)
    large = 1.0 - 2.0 / (exp(a + a) + 1.0)
    return where(a.lt(0.55), odd_polynomial(x, TANH), large.copysign(x))
