"""Reductions. Narrow floats are summed in float32 and rounded once; NaN and tie rules are those of the ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tilewright.interp.formats import format_of
from tilewright.interp.handlers.arith import float_fn, flush, sum_error
from tilewright.interp.lowering import Lowering, impl
from tilewright.tileir.dtypes import float32
from tilewright.tileir.enums import RoundingMode
from tilewright.tileir.ops import reduce
from tilewright.tileir.rounding import mul_error, narrow

Array = Any
Fn = Callable[[Any], Any]


def axes_of(op: Any, low: Lowering) -> tuple[int, ...]:
    """The axes of a reduction in the held value."""
    return tuple(a + low.varies(op.src) for a in op.reduced_axes)


def _fold(op: Any, low: Lowering, ufunc: Any) -> Fn:
    axes = axes_of(op, low)
    fmt = format_of(op.src.type.dtype)
    rnd, ftz = fmt.round, getattr(op, "ftz", False)
    if not axes:
        return flush if ftz else rnd  # of what the handler has made of the elements
    # NumPy begins with +0, with which a sum of -0 alone were +0.
    start = {"initial": -0.0} if ufunc is np.add and op.src.type.dtype.is_float else {}

    def fold(x: Array) -> Array:
        out = rnd(ufunc.reduce(flush(x) if ftz else x, axis=axes, dtype=fmt.held, **start))
        return flush(out) if ftz else out
    return fold


def _directed(op: Any, low: Lowering, ufunc: Any, exact: Any) -> Fn:
    """In halves, each step rounded in the mode that was asked for; narrow floats step in float32, as on the GPU."""
    axes = axes_of(op, low)
    dtype = op.src.type.dtype
    wide = float32 if dtype.bitwidth < 32 else dtype
    combine = float_fn(wide, op.rounding, op.ftz, ufunc, exact)

    def fold(x: Array) -> Array:
        kept = [n for k, n in enumerate(x.shape) if k not in axes]
        x = np.moveaxis(x, axes, range(-len(axes), 0)).reshape(*kept, -1)
        while x.shape[-1] > 1:
            x = combine(*np.split(x, 2, axis=-1))
        out = x[..., 0]
        return out if dtype is wide else narrow(out, dtype, op.rounding)
    return fold


def _accumulate(op: Any, low: Lowering, ufunc: Any, exact: Any) -> Fn:
    directed = op.rounding is not RoundingMode.RN and op.src.type.dtype.is_float and op.axes
    return _directed(op, low, ufunc, exact) if directed else _fold(op, low, ufunc)


@impl(reduce.ReduceSum)
def reduce_sum(op: reduce.ReduceSum, low: Lowering) -> Fn:
    return _accumulate(op, low, np.add, lambda a, b: sum_error(a, b, op.rounding))


@impl(reduce.ReduceProd)
def reduce_prod(op: reduce.ReduceProd, low: Lowering) -> Fn:
    return _accumulate(op, low, np.multiply, mul_error)


@impl(reduce.ReduceMax)
def reduce_max(op: reduce.ReduceMax, low: Lowering) -> Fn:
    return _extreme(op, low, np.maximum, np.fmax, zero_wins=False)


@impl(reduce.ReduceMin)
def reduce_min(op: reduce.ReduceMin, low: Lowering) -> Fn:
    return _extreme(op, low, np.minimum, np.fmin, zero_wins=True)


def _extreme(op: Any, low: Lowering, propagating: Any, skipping: Any, *, zero_wins: bool) -> Fn:
    """`zero_wins`: the sign bit that decides between zeros of both signs (a minimum takes -0)."""
    fold = _fold(op, low, propagating if op.propagate_nan or not op.src.type.dtype.is_float else skipping)
    if not op.src.type.dtype.is_float:
        return fold
    axes = axes_of(op, low)

    def extreme(x: Array) -> Array:
        out = fold(x)
        zero = out == 0
        if not np.any(zero) or not axes:
            return out
        has = np.any((x == 0) & (np.signbit(x) == zero_wins), axis=axes)
        signed = np.where(has == zero_wins, -0.0, 0.0).astype(x.dtype)
        return np.where(zero, signed, out)
    return extreme


@impl(reduce.ArgMax)
def argmax(op: reduce.ArgMax, low: Lowering) -> Fn:
    return _arg(op, low, np.argmax)


@impl(reduce.ArgMin)
def argmin(op: reduce.ArgMin, low: Lowering) -> Fn:
    return _arg(op, low, np.argmin)


def _arg(op: Any, low: Lowering, find: Callable[..., Any]) -> Fn:
    [axis] = axes_of(op, low)
    worst = -np.inf if find is np.argmax else np.inf
    # NumPy takes a NaN as the best value, the first of several: the rule of propagate_nan.
    if op.propagate_nan or not op.src.type.dtype.is_float:
        return lambda x: find(x, axis=axis).astype(np.int32)

    def skip_nan(x: Array) -> Array:
        nan = np.isnan(x)
        if not nan.any():
            return find(x, axis=axis).astype(np.int32)
        index = find(np.where(nan, worst, x), axis=axis)
        # A row whose best value is the worst number: its first number, even behind NaNs; only NaNs: 0.
        picked_nan = np.take_along_axis(nan, np.expand_dims(index, axis), axis).squeeze(axis)
        return np.where(picked_nan, np.argmin(nan, axis=axis), index).astype(np.int32)
    return skip_nan


@impl(reduce.Histogram)
def histogram(op: reduce.Histogram, low: Lowering) -> Fn:
    return counter(op.bins, low.varies(op.src))


def counter(bins: int, varies: bool) -> Fn:
    """How often each of 0 to bins - 1 comes; in each block, where the tile has an axis over blocks."""
    def count(x: Array) -> Array:
        rows = x.reshape(len(x) if varies else 1, -1)
        row, column = np.nonzero((rows >= 0) & (rows < bins))
        counts = np.bincount(row * bins + rows[row, column], minlength=len(rows) * bins).astype(np.int32)
        return counts.reshape((len(rows), bins) if varies else (bins,))
    return count
