"""What arithmetic makes of sound operands: NaN, infinities, zeros of what is not zero, casts that change a number, and
integers of indices that wrap. Rules give steps that run behind their ops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from tilewright.interp.checking.numerics import ops_behind
from tilewright.interp.checking.places import block_coordinates, called, first_lane
from tilewright.interp.checking.report import Report
from tilewright.interp.chunk import Regs
from tilewright.interp.formats import as_float
from tilewright.interp.handlers.reduce import axes_of
from tilewright.interp.lowering import Step
from tilewright.tileir import dtypes as dt
from tilewright.tileir.core import Function, Op, Value
from tilewright.tileir.ops import arith, convert, math, matmul, memory, reduce
from tilewright.tileir.ops.atomics import Atomic
from tilewright.tileir.rules import RuleTable

Array = Any
Reach = Callable[[Regs, Callable[[Array], Array]], Array]
"""Of which results some operand fulfils a test."""

REACH: RuleTable[Callable[[Any, Any], Reach]] = RuleTable("operands of each result")


def births(op: Any, low: Any) -> Step | None:
    """The step that looks at what a float op has made."""
    entry = REACH.of(op)
    if entry is None or len(op.results) != 1 or not op.result.type.dtype.is_float:
        return None
    reach, target, dtype = entry(op, low), low.slot(op.result), op.result.type.dtype
    flushes = isinstance(op, arith.Mul | arith.Div | convert.Cast) or getattr(op, "ftz", False)

    def step(regs: Regs) -> None:
        value = np.asarray(as_float(regs[target], dtype))
        odd = ~np.isfinite(value)
        if odd.any():
            _odd(op, low, regs, value, reach)
        if flushes:
            _flushed(op, low, regs, value)
    return step


def _odd(op: Any, low: Any, regs: Regs, value: Array, reach: Reach) -> None:
    numerics = regs[0].memory.numerics
    for kind, test, bad in (("nan", np.isnan, np.isnan), ("overflow", np.isinf, _not_finite)):
        found = test(value)
        if not found.any() or numerics.knows(op, kind):
            continue
        found = np.asarray(found & ~reach(regs, bad))
        if found.any():
            made, of = ("NaN", "none of the operands is NaN") if kind == "nan" else (
                "an infinity", "all operands are finite")
            numerics.born(op, replace(_report(op, low, regs, found), kind=kind, severity="warning", reason=of,
                                      message=f"{called(op)} makes {made}, which is stored"))


def _flushed(op: Any, low: Any, regs: Regs, value: Array) -> None:
    """Zeros of what is not zero: too small for the dtype, or flushed."""
    zero = value == 0
    if not zero.any():
        return
    given = [np.asarray(as_float(regs[low.slot(v)], v.type.dtype)) for v in op.operands if v.type.dtype.is_float]
    if isinstance(op, arith.Add | arith.Sub | arith.Fma) or len(given) not in (1, 2):
        return
    found = zero & (given[0] != 0) & np.isfinite(given[0])
    if len(given) == 2:
        found = found & (given[1] != 0) & np.isfinite(given[1])
    if np.any(found):
        _note(op, low, regs, found, Report(
            "underflow", f"{called(op)} makes zero of what is not zero", op.span, severity="note",
            reason=f"the result is too small for {op.result.type.dtype}"))


def _not_finite(x: Array) -> Array:
    return ~np.isfinite(x)


# ---- which operands a result depends on


@REACH.register(arith.Binary)
@REACH.register(arith.Fma)
@REACH.register(arith.Pow)
@REACH.register(math.FloatUnary)
@REACH.register(convert.Cast)
def elementwise(op: Op, low: Any) -> Reach:
    operands = [(low.slot(v), v.type.dtype) for v in op.operands if v.type.dtype.is_float]

    def reach(regs: Regs, bad: Callable[[Array], Array]) -> Array:
        out: Any = False
        for slot, dtype in operands:
            out = out | bad(as_float(regs[slot], dtype))
        return out
    return reach


@REACH.register(reduce.ReduceSum)
@REACH.register(reduce.ReduceProd)
def reduction(op: Any, low: Any) -> Reach:
    source, dtype, axes = low.slot(op.src), op.src.type.dtype, axes_of(op, low)
    return lambda regs, bad: np.any(bad(as_float(regs[source], dtype)), axis=axes)


@REACH.register(matmul.Mma)
def mma(op: matmul.Mma, low: Any) -> Reach:
    a, b, acc = ((low.slot(v), v.type.dtype) for v in (op.a, op.b, op.acc))

    def reach(regs: Regs, bad: Callable[[Array], Array]) -> Array:
        rows, columns, before = (bad(as_float(regs[slot], dtype)) for slot, dtype in (a, b, acc))
        return rows.any(axis=-1)[..., :, None] | columns.any(axis=-2)[..., None, :] | before
    return reach


# ---- casts


def lossy(op: Any, low: Any) -> Step | None:
    """A cast to or from integers that changes the number. (Between floats every cast rounds.)"""
    if not isinstance(op, convert.Cast):
        return None
    src, dst = op.src.type.dtype, op.dtype
    if dst.is_bool or src.is_bool or (src.is_float and dst.is_float):
        return None
    if not (src.is_float or src.is_signed or dst.is_signed):  # words of hashes and random numbers
        return None
    source, target = low.slot(op.src), low.slot(op.result)

    def step(regs: Regs) -> None:
        before, after = np.asarray(as_float(regs[source], src)), np.asarray(as_float(regs[target], dst))
        if src.is_float:
            least, most = dst.int_range
            whole = np.trunc(before.astype(np.float64))
            wrong = ~((whole >= float(least)) & (whole < float(most + 1)))
        else:
            wrong = ~_equal(before, after)
        if wrong.any():
            _note(op, low, regs, wrong, Report(
                "lossy", f"the cast from {src} to {dst} changes a number", op.span, severity="warning",
                reason=f"{dst} cannot hold it"))
    return step


def _equal(a: Array, b: Array) -> Array:
    """Are integers equal to what a cast has made of them? Exact for all dtypes."""
    if b.dtype.kind == "f":
        wide = b.astype(np.float64)
        inside = (wide >= -2.0**63) & (wide < 2.0**63)
        return inside & (np.where(inside, b, 0).astype(a.dtype) == a)
    return (b.astype(a.dtype) == a) & ((a < 0) == (b < 0))


# ---- integers of indices


def index_arithmetic(function: Function) -> frozenset[Op]:
    """The integer additions, subtractions and multiplications whose results become indices of accesses.

    What passes a mask of bits, a remainder, a shift to the right or memory is no index arithmetic any more.
    """
    owners = {p: op for op in function.walk() for block in op.blocks for p in block.params}
    indices: list[Value] = []
    for op in function.walk():
        for name in ("index", "indices"):
            if isinstance(op, memory.TileAccess | memory.Gather | memory.Scatter | Atomic) and hasattr(op, name):
                indices += getattr(op, name)
    stops = arith.And, arith.Or, arith.Xor, arith.Shr, arith.Mod, memory.Load, memory.Gather, Atomic

    def follows(value: Value) -> bool:
        whole = getattr(value.type, "dtype", None) is not None and value.type.dtype.is_int
        return whole and not isinstance(value.op, stops)
    wraps = arith.Add, arith.Sub, arith.Mul, math.Neg, arith.Shl
    return frozenset(op for op in ops_behind(indices, owners, follows)
                     if isinstance(op, wraps) and op.result.type.dtype.is_int)


def wraps(op: Any, low: Any) -> Step | None:
    """Integer arithmetic of an index whose exact result does not fit."""
    if op not in low.index_arithmetic:
        return None
    sources, target, dtype = low.slot_list(op.operands), low.slot(op.result), op.result.type.dtype

    def step(regs: Regs) -> None:
        operands, got = [np.asarray(regs[s]) for s in sources], np.asarray(regs[target])
        near = _may_wrap(op, operands, got, dtype)
        if not np.any(near):
            return
        exact = _EXACT[op.opcode](*(np.broadcast_to(x, got.shape).astype(object) for x in operands))
        wrong = np.asarray(exact != got.astype(object), bool)
        if wrong.any():
            _note(op, low, regs, wrong, Report(
                "wrap", f"{called(op)} of an index wraps around: the result does not fit {dtype}", op.span,
                reason=f"integers of {dtype.bitwidth} bits wrap, and the element that is accessed is another one",
                hint="compute the index in int64: ct.int64(x), or annotate the array with IndexedWithInt64"))
    return step


def narrow_totals(op: Any, low: Any) -> Step | None:
    """A sum or product over an axis that does not fit the dtype of its tile. (Wide unsigned ones are checksums.)"""
    if not isinstance(op, reduce.ReduceSum | reduce.ReduceProd):
        return None
    dtype = op.result.type.dtype
    if not dtype.is_int or (dtype.bitwidth >= 32 and not dtype.is_signed):
        return None
    source, target, axes = low.slot(op.src), low.slot(op.result), axes_of(op, low)
    wide = {8: "ct.int32", 16: "ct.int32", 32: "ct.int64"}.get(dtype.bitwidth)
    total = np.add.reduce if op.kind == "sum" else np.multiply.reduce

    def step(regs: Regs) -> None:
        about = total(np.asarray(regs[source]).astype(np.float64), axis=axes)  # far nearer than a wrapped result
        wrong = np.abs(about - np.asarray(regs[target]).astype(np.float64)) > 2.0**(dtype.bitwidth - 1)
        if wrong.any():
            _note(op, low, regs, wrong, Report(
                "wrap", f"{op.kind} wraps around: the result does not fit {dtype}", op.span, severity="warning",
                reason=f"the result has the dtype of its tile, and integers of {dtype.bitwidth} bits wrap",
                hint=f"cast the tile first: ct.{op.kind}(ct.astype(t, {wide}))" if wide else ""))
    return step


_EXACT: dict[str, Callable[..., Array]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "neg": lambda a: -a,
    "shl": lambda a, b: a * 2**b,
}


def _may_wrap(op: Op, operands: list[Array], got: Array, dtype: dt.DType) -> Array:
    """A cheap test that misses no wrapped result: float64 is exact enough to tell far from near."""
    wide = [x.astype(np.float64) for x in operands]
    about = wide[0] * np.exp2(wide[1]) if op.opcode == "shl" else _EXACT[op.opcode](*wide)
    return np.abs(about - got.astype(np.float64)) > 2.0**(dtype.bitwidth - 1)


# ---- reports


def _note(op: Any, low: Any, regs: Regs, found: Array, report: Report) -> None:
    regs[0].memory.log.add((report.kind, op), int(np.count_nonzero(found)), lambda: replace(
        _report(op, low, regs, found), kind=report.kind, severity=report.severity, message=report.message,
        reason=report.reason, hint=report.hint))


def _report(op: Any, low: Any, regs: Regs, found: Array) -> Report:
    """The element, the block, and the numbers of the first lane that was found."""
    varies, rank = low.varies(op.result), len(op.result.type.shape)
    found = np.broadcast_to(found, low.full(op.result)(regs))
    lane = first_lane(found)
    values: dict[str, Any] = {"element": lane[varies:]} if rank else {}
    for name, value in _named(op):
        held = np.asarray(as_float(regs[low.slot(value)], value.type.dtype))
        if len(value.type.shape) == rank and not op.blocks and not isinstance(op, matmul.Mma):
            whole = np.broadcast_to(held, found.shape) if held.ndim <= found.ndim else held
            values[name] = whole[lane].item()
    return Report("nan", "", op.span, block=block_coordinates(regs[0], lane[0] if varies else 0), values=values)


def _named(op: Any) -> list[tuple[str, Value]]:
    """Operands and result with the user's names where they have some."""
    named = [(value.hint or f"operand {n}", value) for n, value in enumerate(op.operands, 1)]
    return [*named, ("result", op.result)]
