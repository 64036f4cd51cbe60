"""Element-wise functions. Those of float32 and narrower are computed in float64 and rounded once, which is the
correctly rounded result but for the rare value that float64's own error moves over a tie; modes change nothing."""

from __future__ import annotations

import math as numbers
from collections.abc import Callable
from typing import Any

import numpy as np

from tilewright.interp import codes
from tilewright.interp.formats import as_float, format_of
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
    if dtype in codes.FORMATS:
        return lambda x: codes.encode_nearest(fn(as_float(x, dtype).astype(np.float64)), dtype)
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
    if dtype in codes.FORMATS:
        return through_float64(np.sqrt, dtype)
    return float_fn(dtype, op.rounding, op.ftz, np.sqrt, rounding.sqrt_error)


def _sign_bit(dtype: DType) -> Any:
    """The sign bit of a code, 0 where the format has none."""
    return np.uint8(1 << (dtype.bitwidth - 1) if dtype.has_sign else 0)


@impl(math.Neg)
def neg(op: math.Neg, low: Lowering) -> Fn:
    dtype = op.src.type.dtype
    if dtype in codes.FORMATS:
        sign = _sign_bit(dtype)
        return lambda x: x ^ sign
    return np.negative


@impl(math.Abs)
def abs_(op: math.Abs, low: Lowering) -> Fn:
    dtype = op.src.type.dtype
    if dtype in codes.FORMATS:
        keep = np.uint8(0xFF ^ _sign_bit(dtype))
        return lambda x: x & keep
    return np.absolute


@impl(math.Not)
def not_(op: math.Not, low: Lowering) -> Fn:
    return np.logical_not if op.src.type.dtype.is_bool else np.invert


def _integral(op: math.FloatUnary, fn: Fn) -> Fn:
    dtype = op.src.type.dtype
    return through_float64(fn, dtype) if format_of(dtype).held == np.uint8 else fn


@impl(math.Floor)
def floor(op: math.Floor, low: Lowering) -> Fn:
    return _integral(op, np.floor)


@impl(math.Ceil)
def ceil(op: math.Ceil, low: Lowering) -> Fn:
    return _integral(op, np.ceil)


@impl(math.Trunc)
def trunc(op: math.Trunc, low: Lowering) -> Fn:
    return _integral(op, np.trunc)


@impl(math.Round)
def round_(op: math.Round, low: Lowering) -> Fn:
    return _integral(op, np.rint)


@impl(math.StopGradient)
def stop_gradient(op: math.StopGradient, low: Lowering) -> Fn:
    return lambda x: x


def _test(op: math.FloatTest, fn: Fn) -> Fn:
    dtype = op.src.type.dtype
    return (lambda x: fn(as_float(x, dtype))) if dtype in codes.FORMATS else fn


@impl(math.IsNan)
def isnan(op: math.IsNan, low: Lowering) -> Fn:
    return _test(op, np.isnan)


@impl(math.IsInf)
def isinf(op: math.IsInf, low: Lowering) -> Fn:
    return _test(op, np.isinf)


@impl(math.IsFinite)
def isfinite(op: math.IsFinite, low: Lowering) -> Fn:
    return _test(op, np.isfinite)


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
