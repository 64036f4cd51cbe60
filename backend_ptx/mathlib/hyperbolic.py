"""sinh, cosh and tanh of float32 and float64: a polynomial near zero, the exponential elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.backend_ptx.mathlib import exp32, exp64
from tilewright.backend_ptx.mathlib.vec import Vec, fma, polynomial, where

# f(x) = x + x*s*P(s), s = x*x: sinh on |x| <= 1, tanh on |x| <= 0.9 (float32) and 0.55 (float64).
SINH32 = (0.1666666716337204, 0.00833331048488617, 0.00019842895762560532, 2.7822131869470468e-06)
TANH32 = (
    -0.3333321213722229, 0.13330359756946564, -0.05372149869799614, 0.0209041815251112, -0.006860142573714256,
    0.0013040030607953668,
)
SINH64 = (
    0.16666666666666666, 0.008333333333333573, 0.0001984126984106116, 2.7557319310090883e-06, 2.5052089412657217e-08,
    1.606133918299512e-10, 7.5032646281752e-13, 6.4753275746184665e-15,
)
TANH64 = (
    -0.333333333333333, 0.1333333333332658, -0.05396825396373783, 0.02186948838522456, -0.008863232591206784,
    0.0035920919261161156, -0.0014555421590303494, 0.0005884415761425251, -0.0002333739106730759,
    8.330508911253017e-05, -1.9487427526402828e-05,
)


def _odd(x: Vec, limit: float, coefficients: Sequence[float], large: Vec) -> Vec:
    """x + x*s*P(s) with s = x*x below the limit, `large` with the sign of x from there on."""
    near, s = abs(x).lt(limit), x * x
    # + 0.0 makes the product of x = -0 and a negative coefficient +0, so that f(-0) is -0.
    small = fma(fma(polynomial(s, coefficients), s, 0.0), x, x)
    return where(near, small, large.copysign(x))


def sinh32(x: Vec) -> Vec:
    """Hyperbolic sine: e/2 - 1/(2e)."""
    half = exp32.half_exp(abs(x))
    return _odd(x, 1.0, SINH32, fma(-0.25, exp32.rcp(half), half))


def cosh32(x: Vec) -> Vec:
    """Hyperbolic cosine: e/2 + 1/(2e)."""
    half = exp32.half_exp(abs(x))
    return fma(0.25, exp32.rcp(half), half)


def tanh32(x: Vec) -> Vec:
    """Hyperbolic tangent: 1 - 2 / (e**(2|x|) + 1)."""
    inverse = exp32.rcp(exp32.ex2(abs(x) * (2.0 * exp32.LOG2E)) + 1.0)  # of infinity: 0
    return _odd(x, 0.9, TANH32, fma(-2.0, inverse, 1.0))


def sinh64(x: Vec) -> Vec:
    """Hyperbolic sine, as in float32."""
    half = exp64.exp(abs(x), -1)
    return _odd(x, 1.0, SINH64, half - 0.25 / half)


def cosh64(x: Vec) -> Vec:
    """Hyperbolic cosine, as in float32."""
    half = exp64.exp(abs(x), -1)
    return half + 0.25 / half


def tanh64(x: Vec) -> Vec:
    """Hyperbolic tangent, as in float32."""
    a = abs(x)
    return _odd(x, 0.55, TANH64, 1.0 - 2.0 / (exp64.exp(a + a) + 1.0))
