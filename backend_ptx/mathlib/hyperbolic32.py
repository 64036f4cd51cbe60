"""float32 sinh, cosh and tanh: a polynomial near zero, the exponential elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.backend_ptx.mathlib.exp32 import LOG2E, ex2, half_exp, rcp
from tilewright.backend_ptx.mathlib.vec import Vec, fma, polynomial, where

# f(x) = x + x*s*P(s), s = x*x: sinh on |x| <= 1, tanh on |x| <= 0.9.
SINH = (0.1666666716337204, 0.00833331048488617, 0.00019842895562760532, 2.7822131869470468e-06)
TANH = (
    -0.3333321213722229, 0.13330359756946564, -0.05372149869799614, 0.0209041815251112, -0.006860142573714256,
    0.0013040030607953668,
)


def odd_polynomial(x: Vec, coefficients: Sequence[float]) -> Vec:
    """x + x*s*P(s) with s = x*x."""
    s = x * x
    # + 0.0 makes the product of x = -0 and a negative coefficient +0, so that f(-0) is -0.
    return fma(fma(polynomial(s, coefficients), s, 0.0), x, x)


def sinh(x: Vec) -> Vec:
    """Hyperbolic sine: e/2 - 1/(2e)."""
    a = abs(x)
    half = half_exp(a)
    large = fma(-0.25, rcp(half), half)
    return where(a.lt(1.0), odd_polynomial(x, SINH), large.copysign(x))


def cosh(x: Vec) -> Vec:
    """Hyperbolic cosine: e/2 + 1/(2e)."""
    half = half_exp(abs(x))
    return fma(0.25, rcp(half), half)


def tanh(x: Vec) -> Vec:
    """Hyperbolic tangent: 1 - 2 / (e**(2|x|) + 1)."""
    a = abs(x)
    d = ex2(a * (2.0 * LOG2E)) + 1.0
    inverse = rcp(d)  # of infinity: 0
    large = fma(-2.0, inverse, 1.0)
    return where(a.lt(0.9), odd_polynomial(x, TANH), large.copysign(x))


def tanh_approx(x: Vec) -> Vec:
    """The hardware's tanh: relative error about 2**-11."""
    return x.lanewise("llvm.nvvm.tanh.approx.f32")
