"""Hyperbolic functions of float32 and float64, and the logistic one: a polynomial near zero, the exponential elsewhere;
their inverses by log1p."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

from tilewright.backend_ptx.mathlib import exp32, exp64
from tilewright.backend_ptx.mathlib.vec import Vec, choose, fma, odd_series, where

Function = Callable[[Vec], Vec]

# f(x) = x + x*s*P(s), s = x*x: sinh on |x| <= 1, tanh on |x| <= 0.9 (float32) and 0.55 (float64).
SINH32 = (0.1666666716337204, 0.00833331048488617, 0.00019842895762560532, 2.7822131869470468e-06)
TANH32 = (-0.33333212, 0.1333036, -0.0537215, 0.020904182, -0.0068601426, 0.0013040031)
SINH64 = (
    0.16666666666666666, 0.008333333333333573, 0.0001984126984106116, 2.7557319310090883e-06, 2.5052089412657217e-08,
    1.606133918299512e-10, 7.5032646281752e-13, 6.4753275746184665e-15)
TANH64 = (-0.333333333333333, 0.1333333333332658, -0.05396825396373783, 0.02186948838522456, -0.008863232591206784,
          0.0035920919261161156, -0.0014555421590303494, 0.0005884415761425251, -0.0002333739106730759,
          8.330508911253017e-05, -1.9487427526402828e-05)
# From here on log1p(x) is log(x) and x + sqrt(x*x +- 1) is 2*x, to the last place; x*x does not overflow yet.
LARGE = {"float": 2.0**28, "double": 2.0**60}


def _odd(x: Vec, limit: float, coefficients: Sequence[float], large: Vec) -> Vec:
    """x + x*s*P(s) with s = x*x below the limit, `large` with the sign of x from there on."""
    near, s = abs(x).lt(limit), x * x
    return where(near, odd_series(x, s, coefficients), large.copysign(x))


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


def sigmoid_32(x: Vec) -> Vec:
    """1 / (1 + exp(-x)); for x < 0 as exp(x) / (1 + exp(x)), which neither overflows nor loses small results."""
    power = exp32.exp(-abs(x))
    denominator = power + 1.0
    inverse = exp32.rcp(denominator)
    inverse = fma(fma(-inverse, denominator, 1.0), inverse, inverse)
    return where(x.lt(0.0), power, 1.0) * inverse


def sigmoid_relative(x: Vec) -> Vec:
    """The same in 9 instructions, within 64 ulp as the exponential is."""
    power = exp32.exp_relative(-abs(x))
    return where(x.lt(0.0), power, 1.0) * exp32.rcp(power + 1.0)


def sigmoid_flushed(x: Vec) -> Vec:
    """1 / (1 + exp(-x)) in 4 instructions: zero where the exponential is above 2**126, or infinite."""
    return exp32.rcp(exp32.exp_approx(-x) + 1.0)


def sigmoid_64(x: Vec) -> Vec:
    """The same in float64."""
    power = exp64.exp(-abs(x))
    return where(x.lt(0.0), power, 1.0) / (power + 1.0)


# ---- inverses -----------------------------------------------------------------------------------------------


def _asinh(x: Vec, log1p: Function) -> Vec:
    """log(a + sqrt(a*a + 1)) as log1p(a + a*a / (1 + sqrt(a*a + 1))); large arguments as log(a) + log(2)."""
    a = abs(x)
    large = a.gt(LARGE[x.elem])
    square = a * a
    step = a + square / ((square + 1.0).intrinsic("llvm.sqrt") + 1.0)
    value = log1p(where(large, a, step)) + choose(large, a, math.log(2), 0.0)
    return value.copysign(x)


def _acosh(x: Vec, log1p: Function) -> Vec:
    """log(x + sqrt(x*x - 1)) as log1p(t + sqrt(t*t + 2*t)) with t = x - 1; NaN below 1."""
    large = x.gt(LARGE[x.elem])
    t = x - 1.0
    step = t + fma(t, t, t + t).intrinsic("llvm.sqrt")
    value = log1p(where(large, t, step)) + choose(large, x, math.log(2), 0.0)
    return where(x.ge(1.0), value, math.nan)


def _atanh(x: Vec, log1p: Function) -> Vec:
    """log((1 + a) / (1 - a)) / 2; infinite at 1, NaN beyond."""
    a = abs(x)
    return (log1p((a + a) / (1.0 - a)) * 0.5).copysign(x)


def inverses(log1p: Function) -> dict[str, Function]:
    """The numbers whose hyperbolic sine, cosine (the one that is not negative) and tangent are x."""
    return {"asinh": partial(_asinh, log1p=log1p), "acosh": partial(_acosh, log1p=log1p),
            "atanh": partial(_atanh, log1p=log1p)}
