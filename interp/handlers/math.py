"""Element-wise functions. Those of float32 and narrower are computed in float64 and rounded once, which is the
correctly rounded result but for the rare value that float64's own error moves over a tie; modes change nothing."""

from __future__ import annotations

import math as numbers
from collections.abc import Callable
from typing import Any

import numpy as np

from tilewright.interp.handlers.arith import float_fn, with_ftz
from tilewright.interp.lowering import Lowering, impl
from tilewright.tileir import dtypes as dt
from tilewright.tileir import rounding
from tilewright.tileir.core import Op
from tilewright.tileir.dtypes import DType
from tilewright.tileir.ops import math

Array = Any
Fn = Callable[..., Any]


def through_float64(fn: Fn, dtype: DType) -> Fn:
    """A ufunc evaluated in float64 and rounded once to the dtype."""
    if dtype is dt.float64:
        return fn
    if dtype is dt.float32:
        # NumPy converts piece by piece inside the ufunc, which spares whole float64 temporaries.
        def float32(x: Array) -> Array:
            out = np.empty(np.shape(x), np.float32)
            fn(x, out=out, dtype=np.float64, casting="same_kind")
            return out
        return float32 if isinstance(fn, np.ufunc) else lambda x: fn(np.asarray(x, np.float64)).astype(np.float32)
    return lambda x: rounding.nearest(fn(np.asarray(x, np.float64)), dtype)


def _rsqrt(x: Array) -> Array:
    return 1.0 / np.sqrt(x)


def _of_numbers(fn: Callable[[float], float]) -> Fn:
    """A function of Python's `math`, element by element: NumPy has none."""
    each = np.frompyfunc(fn, 1, 1)
    return lambda x: np.asarray(each(x), np.float64)


_erf, _erfc = _of_numbers(numbers.erf), _of_numbers(numbers.erfc)


def _sigmoid(x: Array) -> Array:
    power = np.exp(-np.abs(x))
    return np.where(x < 0, power, 1.0) / (1.0 + power)


_FUNCTIONS: tuple[tuple[type[Op], Fn], ...] = (
    (math.Exp, np.exp), (math.Exp2, np.exp2), (math.Log, np.log), (math.Log2, np.log2), (math.Rsqrt, _rsqrt),
    (math.Sin, np.sin), (math.Cos, np.cos), (math.Tan, np.tan), (math.Sinh, np.sinh), (math.Cosh, np.cosh),
    (math.Tanh, np.tanh), (math.Asin, np.arcsin), (math.Acos, np.arccos), (math.Atan, np.arctan),
    (math.Asinh, np.arcsinh), (math.Acosh, np.arccosh), (math.Atanh, np.arctanh), (math.Log1p, np.log1p),
    (math.Expm1, np.expm1), (math.Erf, _erf), (math.Erfc, _erfc), (math.Sigmoid, _sigmoid),
)


def _function(fn: Fn) -> Callable[[Any, Lowering], Fn]:
    def handler(op: math.FloatUnary, low: Lowering) -> Fn:
        out = through_float64(fn, op.src.type.dtype)
        return with_ftz(out) if getattr(op, "ftz", False) else out
    return handler


for _op, _fn in _FUNCTIONS:
    impl(_op)(_function(_fn))


@impl(math.Sqrt)
def sqrt(op: math.Sqrt, low: Lowering) -> Fn:
    dtype = op.src.type.dtype
    return float_fn(dtype, op.rounding, op.ftz, np.sqrt, rounding.sqrt_error)


@impl(math.Not)
def not_(op: math.Not, low: Lowering) -> Fn:
    return np.logical_not if op.src.type.dtype.is_bool else np.invert


_PLAIN: tuple[tuple[type[Op], Fn], ...] = (
    (math.Neg, np.negative), (math.Abs, np.absolute), (math.Floor, np.floor), (math.Ceil, np.ceil),
    (math.Trunc, np.trunc), (math.Round, np.rint), (math.IsNan, np.isnan), (math.IsInf, np.isinf),
    (math.IsFinite, np.isfinite),
)


def _as_it_is(fn: Fn) -> Callable[[Any, Lowering], Fn]:
    return lambda op, low: fn


for _op, _fn in _PLAIN:
    impl(_op)(_as_it_is(_fn))


@impl(math.StopGradient)
def stop_gradient(op: math.StopGradient, low: Lowering) -> Fn:
    return lambda x: x


def _unsigned(x: Array) -> Array:
    return x.view(np.dtype(f"u{x.dtype.itemsize}"))


@impl(math.Popcount)
def popcount(op: math.Popcount, low: Lowering) -> Fn:
    return lambda x: np.bitwise_count(_unsigned(np.asarray(x))).astype(np.int32)


@impl(math.Clz)
def clz(op: math.Clz, low: Lowering) -> Fn:
    width = op.src.type.dtype.bitwidth

    def run(x: Array) -> Array:
        filled = _unsigned(np.asarray(x)).copy()
        step = 1
        while step < width:  # every bit below the highest 1 becomes 1
            filled |= filled >> filled.dtype.type(step)
            step *= 2
        return (width - np.bitwise_count(filled)).astype(np.int32)

    return run
