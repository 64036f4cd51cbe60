"""Cancellation: sums and differences of rounded floats of which hardly more is left than the rounding of the operands.

Steps behind the ops note which of them have rounded so far (what a kernel loads counts as exact, and so does arithmetic
of small integers). Sums and differences of what such ops have made are reported where they lose half of their bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tilewright.interp.checking.places import block_coordinates, called, first_lane
from tilewright.interp.checking.report import Report
from tilewright.interp.chunk import Regs
from tilewright.interp.formats import as_float
from tilewright.interp.handlers.reduce import axes_of
from tilewright.interp.lowering import Step
from tilewright.tileir.carried import maker_of, origins
from tilewright.tileir.core import Function, Op, Value
from tilewright.tileir.dtypes import DType
from tilewright.tileir.ops import arith, atomics, convert, fold, math, memory, reduce, shape
from tilewright.tileir.rounding import add_error, div_error, mul_error, sqrt_error
from tilewright.tileir.types import TileType

Array = Any

MOVES = shape.Broadcast, shape.Reshape, shape.Permute, shape.Cat, shape.Extract, shape.Take
PICKS = arith.Min, arith.Max, reduce.ReduceMin, reduce.ReduceMax, arith.Select
SCALES = math.Neg, arith.Mul
EXACT = (*MOVES, *PICKS, arith.Constant, math.Neg, math.Abs, math.Integral, memory.Load, memory.Gather, atomics.Atomic,
         convert.Bitcast)
"""These give numbers that they were given, or whole ones: they round nothing."""

ERRORS: dict[str, Callable[..., tuple[Array, Array]]] = {
    "add": add_error, "sub": lambda a, b: add_error(a, -b), "mul": mul_error, "div": div_error, "sqrt": sqrt_error,
}
"""The float64 result of an op, and something that is zero where this is exact."""


def most_lost(dtype: DType) -> int:
    """How many bits of its operands a result may lose before it is reported: half of the significand."""
    return (dtype.mantissa + 1) // 2


class Flow:
    """Which ops the floats of a function come from."""

    def __init__(self, function: Function) -> None:
        self._parents = {block: op for op in function.walk() for block in op.blocks}

    def makers(self, *values: Value) -> frozenset[Op]:
        """The ops that have made the numbers in these values."""
        found = (maker_of(v, self._parents) for value in values for v in self.behind(value))
        return frozenset(op for op in found if op is not None)

    def behind(self, value: Value, follows: Callable[[Op], bool] = lambda op: True) -> list[Value]:
        """The floats that a value is computed from, through ops that `follows` admits, loops and branches."""
        def ends(v: Value) -> bool:
            op = maker_of(v, self._parents)
            return not _is_float(v) or op is None or not (op.blocks or follows(op))
        return [v for v in origins([value], self._parents, ends) if _is_float(v)]


def _is_float(value: Value) -> bool:
    return isinstance(value.type, TileType) and value.type.dtype.is_float


# ---- what rounds


def rounds(op: Any, low: Any) -> Step | None:
    """The step that finds out whether a float op has rounded, until it has."""
    if len(op.results) != 1 or not _is_float(op.result) or isinstance(op, EXACT):
        return None
    if op.blocks and not isinstance(op, fold.Fold):
        return None
    dtype, target = op.result.type.dtype, low.slot(op.result)
    sources = [(low.slot(v), v.type.dtype) for v in op.operands if isinstance(v.type, TileType)]
    exact = ERRORS.get(op.opcode)

    def step(regs: Regs) -> None:
        seen = regs[0].memory.rounded
        if op in seen:
            return
        result = np.asarray(as_float(regs[target], dtype))
        given = [np.asarray(as_float(regs[slot], of)) for slot, of in sources]
        wrong = _rounded_sum(given[0], result, low, op) if isinstance(op, reduce.ReduceSum) else (
            _differs(exact, given, result) if exact is not None else _not_whole(result, given, dtype, op))
        if wrong:
            seen.add(op)
    return step


def _differs(exact: Callable[..., tuple[Array, Array]], given: list[Array], result: Array) -> bool:
    wide, error = exact(*(x.astype(np.float64) for x in given))
    return bool(np.any(np.isfinite(wide) & ((wide != result) | (error != 0))))


def _rounded_sum(source: Array, result: Array, low: Any, op: reduce.ReduceSum) -> bool:
    wide = source.astype(np.longdouble).sum(axis=axes_of(op, low))
    return bool(np.any(np.isfinite(wide) & (wide != result)))


def _not_whole(result: Array, given: list[Array], dtype: DType, op: Op) -> bool:
    """Of casts: is the number another one? Of functions, products of matrices and scans: is a result no integer, or too
    large to be an exact one? Sums of products of integers are exact below that."""
    if isinstance(op, convert.Cast):
        return bool(np.any(np.isfinite(result) & (result.astype(np.longdouble) != given[0].astype(np.longdouble))))
    return bool(np.any(np.isfinite(result) & ((result != np.rint(result)) | (np.abs(result) > 2.0**dtype.mantissa))))


# ---- what cancels


def cancels(op: Any, low: Any) -> Step | None:
    """The step that looks at what a sum or a difference has lost."""
    if not isinstance(op, arith.Add | arith.Sub | arith.Fma) or not _is_float(op.result):
        return None
    if recovers_rounding(op) or from_an_extreme(op, low.flow):
        return None
    dtype, axes, slots = op.result.type.dtype, reduced_axes(op, low.flow), low.slot_list((*op.operands, op.result))
    whole, limit, made = low.full(op.result), most_lost(dtype), low.flow.makers(*op.operands)

    def step(regs: Regs) -> None:
        *given, result = (
            np.broadcast_to(np.abs(as_float(regs[s], dtype)).astype(np.float64), whole(regs)) for s in slots)
        large = larger_term(given)
        lost = (result * 2.0**limit < large) & np.isfinite(large)
        if not lost.any():
            return
        if axes:
            top, left = (np.max(x, axis=axes, keepdims=True, initial=0) for x in (large, result))
            lost = lost & (left * 2.0**limit < top)
        now = regs[0].memory
        if lost.any() and not made.isdisjoint(now.rounded):
            now.log.add(("cancellation", op), int(np.count_nonzero(lost)), lambda: _report(op, low, regs, lost))
    return step


def larger_term(numbers: list[Any]) -> Any:
    """The larger of two terms, of which the first is a product where there are three numbers."""
    *product, last = numbers
    return np.maximum(np.prod(product, axis=0), last)


def recovers_rounding(op: Any) -> bool:
    """Does a difference take a sum apart again, as compensated sums do: (a + b) - a, or a - (a - b)?"""
    if isinstance(op, arith.Fma):
        return False
    return any(other in _terms(one, 3) for one, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)))


def _terms(value: Value, depth: int) -> set[Value]:
    op = value.op
    if not depth or not isinstance(op, arith.Add | arith.Sub):
        return set()
    return {*op.operands, *(v for part in op.operands for v in _terms(part, depth - 1))}


def from_an_extreme(op: Any, flow: Flow) -> bool:
    """Is it the distance of numbers from the largest or the smallest of them, scaled or not, as in a softmax? Both are
    one and the same rounded number where nothing is left."""
    picks = [flow.behind(v, lambda made: isinstance(made, (*MOVES, *PICKS, *SCALES))) for v in op.operands]
    extreme = any(isinstance(v.op, PICKS[:4]) for values in picks for v in values)
    return extreme and not set(picks[0]).isdisjoint(picks[-1])


def reduced_axes(op: Any, flow: Flow) -> tuple[int, ...]:
    """The axes, counted from the last, along which one operand is the same number, made by a reduction: distances from
    a mean are judged by the largest of them."""
    rank, out = len(op.result.type.shape), set[int]()
    for value in op.operands:
        while isinstance(value.op, shape.Broadcast):
            source = value.op.src
            same = [n for n in range(rank) if not source.type.shape or source.type.shape[n] != value.type.shape[n]]
            if same and any(isinstance(maker, reduce.Reduction) for maker in flow.makers(source)):
                out.update(n - rank for n in same)
            value = source
    return tuple(sorted(out))


def _report(op: Any, low: Any, regs: Regs, lost: Array) -> Report:
    varies, dtype = low.varies(op.result), op.result.type.dtype
    lane = first_lane(lost)
    values: dict[str, Any] = {"element": lane[varies:]} if op.result.type.shape else {}
    held = [float(np.broadcast_to(as_float(regs[low.slot(value)], dtype), lost.shape)[lane])
            for value in (*op.operands, op.result)]
    values.update(zip([*(v.hint or f"operand {n}" for n, v in enumerate(op.operands, 1)), "result"], held, strict=True))
    *given, left = map(abs, held)
    bits = dtype.mantissa + 1
    gone = bits if not left else int(np.floor(np.log2(larger_term(given) / left)))
    return Report(
        "cancellation", f"{called(op)} loses {min(gone, bits)} of the {bits} bits of its operands, which are rounded",
        op.span, severity="warning", block=block_coordinates(regs[0], lane[0] if varies else 0), values=values,
        reason=f"the leading bits cancel, more than {most_lost(dtype)} of them, and what is left is mostly rounding",
        hint="write it without the difference (squares of distances from the mean, expm1, log1p), or in a wider dtype")
