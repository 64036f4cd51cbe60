"""Adjoints of element-wise functions of one tile: the adjoint of the result times the function's slope."""

from __future__ import annotations

from collections.abc import Callable
from math import log, pi, sqrt

from tilewright.tileir.core import Value
from tilewright.tileir.derivatives.emitter import Emitter
from tilewright.tileir.derivatives.reverse import Reverse
from tilewright.tileir.derivatives.rules import ADJOINTS, Factors, adjoint, constant
from tilewright.tileir.ops import arith, math

Slope = Callable[[Emitter, Value, Value, Value], Value]
"""From the adjoint g of y = f(x), x and y: g times the slope of f at x."""

for _op in (math.Not, math.BitCount, math.FloatTest, math.Integral, math.StopGradient):
    ADJOINTS.add(_op, constant)


def _square(b: Emitter, value: Value) -> Value:
    return b.mul(value, value)


def _plus(b: Emitter, value: Value, number: float) -> Value:
    return b.add(value, b.like(value, number))


def _from(b: Emitter, number: float, value: Value) -> Value:
    return b.sub(b.like(value, number), value)


def _root(b: Emitter, value: Value) -> Value:
    return b.value(math.Sqrt(src=value))


def _bell(b: Emitter, g: Value, x: Value, factor: float) -> Value:
    return b.mul(b.scaled(g, factor), b.value(math.Exp(src=b.neg(_square(b, x)))))


def _signed(b: Emitter, g: Value, x: Value) -> Value:
    """g with the sign of x; 0 at 0."""
    zero = b.like(x, 0.0)
    below = b.select(b.compare(arith.Lt, x, zero), b.neg(g), b.like(g, 0.0))
    return b.select(b.compare(arith.Gt, x, zero), g, below)


SLOPES: dict[type[math.Unary], Slope] = {
    math.Neg: lambda b, g, x, y: b.neg(g),
    math.Abs: lambda b, g, x, y: _signed(b, g, x),
    math.Exp: lambda b, g, x, y: b.mul(g, y),
    math.Exp2: lambda b, g, x, y: b.mul(b.scaled(g, log(2.0)), y),
    math.Expm1: lambda b, g, x, y: b.mul(g, _plus(b, y, 1.0)),
    math.Log: lambda b, g, x, y: b.div(g, x),
    math.Log2: lambda b, g, x, y: b.div(b.scaled(g, 1.0 / log(2.0)), x),
    math.Log1p: lambda b, g, x, y: b.div(g, _plus(b, x, 1.0)),
    math.Sqrt: lambda b, g, x, y: b.div(b.scaled(g, 0.5), y),
    math.Rsqrt: lambda b, g, x, y: b.mul(b.scaled(g, -0.5), b.mul(_square(b, y), y)),
    math.Sin: lambda b, g, x, y: b.mul(g, b.value(math.Cos(src=x))),
    math.Cos: lambda b, g, x, y: b.neg(b.mul(g, b.value(math.Sin(src=x)))),
    math.Tan: lambda b, g, x, y: b.mul(g, _plus(b, _square(b, y), 1.0)),
    math.Sinh: lambda b, g, x, y: b.mul(g, b.value(math.Cosh(src=x))),
    math.Cosh: lambda b, g, x, y: b.mul(g, b.value(math.Sinh(src=x))),
    math.Tanh: lambda b, g, x, y: b.mul(g, _from(b, 1.0, _square(b, y))),
    math.Asin: lambda b, g, x, y: b.div(g, _root(b, _from(b, 1.0, _square(b, x)))),
    math.Acos: lambda b, g, x, y: b.neg(b.div(g, _root(b, _from(b, 1.0, _square(b, x))))),
    math.Atan: lambda b, g, x, y: b.div(g, _plus(b, _square(b, x), 1.0)),
    math.Asinh: lambda b, g, x, y: b.div(g, _root(b, _plus(b, _square(b, x), 1.0))),
    math.Acosh: lambda b, g, x, y: b.div(g, _root(b, _plus(b, _square(b, x), -1.0))),
    math.Atanh: lambda b, g, x, y: b.div(g, _from(b, 1.0, _square(b, x))),
    math.Erf: lambda b, g, x, y: _bell(b, g, x, 2.0 / sqrt(pi)),
    math.Erfc: lambda b, g, x, y: _bell(b, g, x, -2.0 / sqrt(pi)),
    math.Sigmoid: lambda b, g, x, y: b.mul(b.mul(g, y), _from(b, 1.0, y)),
}


_OF_RESULT = (math.Exp, math.Exp2, math.Expm1, math.Tan, math.Tanh, math.Sigmoid)
"""Functions whose slopes are made of their results without a division."""
_OF_SOURCE = (math.Neg, math.Abs, math.Sin, math.Cos, math.Sinh, math.Cosh, math.Atan, math.Asinh, math.Erf, math.Erfc)
"""Those whose slopes are finite where their sources are."""


def _factors(op: math.Unary) -> Factors:
    if isinstance(op, _OF_RESULT):
        return op.results, ()
    return (op.operands, ()) if isinstance(op, _OF_SOURCE) else ((), (*op.operands, *op.results))


@adjoint(*SLOPES, scales=_factors)
def function(op: math.Unary, g: Value, r: Reverse) -> None:
    r.give(op.src, lambda: SLOPES[type(op)](r.b, g, r.now(op.src), r.now(op.result)))
