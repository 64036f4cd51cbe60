"""asinh, acosh and atanh of float32 and float64, by log1p."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from tilewright.backend_ptx.mathlib.vec import Vec, choose, fma, where

Function = Callable[[Vec], Vec]
# From here on log1p(x) is log(x) and x + sqrt(x*x +- 1) is 2*x, to the last place; x*x does not overflow yet.
LARGE = {"float": 2.0**28, "double": 2.0**60}


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


def functions(log1p: Function) -> dict[str, Function]:
    """The numbers whose hyperbolic sine, cosine (the one that is not negative) and tangent are x."""
    return {"asinh": partial(_asinh, log1p=log1p), "acosh": partial(_acosh, log1p=log1p),
            "atanh": partial(_atanh, log1p=log1p)}
