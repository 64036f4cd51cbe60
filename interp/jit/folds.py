"""Sums and extremes along the last axis, in the loop that computes the elements: a row is folded while it is in the
cache.

A sum is added in NumPy's order (pairwise: eight accumulators in runs of up to 128 elements, halves above), so that its
bits are those of the closure. An extreme has no order; where a row has a NaN, the closures say which one it is.
"""

from __future__ import annotations

from collections.abc import Callable

from tilewright.interp.jit.emit import Emitter, Name, double, memory, register
from tilewright.tileir import dtypes as dt
from tilewright.tileir.core import Op, Value
from tilewright.tileir.dtypes import DType
from tilewright.tileir.enums import RoundingMode
from tilewright.tileir.ops import reduce

LANES = 8
RUN = 128
"""NumPy's: so many accumulators, and so many elements that they sum at most."""

LONGEST = 4096


def may_fold(op: Op) -> bool:
    """Is an op a reduction of rows that has code?"""
    if not isinstance(op, reduce.ReduceSum | reduce.ReduceMax | reduce.ReduceMin):
        return False
    type_ = op.src.type
    shape, dtype = type_.shape, type_.dtype
    if op.axes != (len(shape) - 1,) or not LANES <= shape[-1] <= LONGEST or dtype not in _FLOATS:
        return False
    if isinstance(op, reduce.ReduceSum):
        return op.rounding is RoundingMode.RN and not op.ftz
    return not getattr(op, "ftz", False)


_FLOATS = (dt.float64, dt.float32, dt.float16, dt.bfloat16)


class Fold:
    """The function of one reduction: `i32 name(row, result)`, whose value says whether it is in doubt."""

    def __init__(self, op: Op, name: str) -> None:
        self.op = op
        self.name = name
        self.source: Value = op.operands[0]

    @property
    def text(self) -> tuple[str, dict[str, str]]:
        """LLVM IR, and what it declares."""
        e = Emitter()
        dtype, length = self.source.type.dtype, self.source.type.shape[-1]
        before: list[str] = []
        if isinstance(self.op, reduce.ReduceSum):
            run = f"{self.name}.run"
            if length > RUN:
                before = _run(run, register(dtype))
            out, doubt = e.rounded(_sum(e, dtype, length, run), dtype), "0"
        else:
            out, doubt = _extreme(e, dtype, length, isinstance(self.op, reduce.ReduceMax))
        lines = [*before, f"define internal i32 @{self.name}(ptr noalias %row, ptr noalias %result) {{", "entry:",
                 *e.lines, f"  store {memory(dtype)} {out}, ptr %result", f"  ret i32 {doubt}", "}"]
        return "\n".join(lines), e.declared


def _sum(e: Emitter, dtype: DType, length: int, run: str) -> Name:
    """NumPy's sum of a row: -0, with which the handler begins, and the pairwise sum of its elements. `run` is the
    function that sums runs, if there are several."""
    type_ = register(dtype)

    def pairwise(first: int, count: int) -> Name:
        if count > RUN:
            return e.do(f"fadd {type_}", pairwise(first, count // 2), pairwise(first + count // 2, count // 2))
        place = e(f"getelementptr {type_}, ptr %row, i64 {first}")
        return _summed(e, place, type_, count) if count == length else e(f"call {type_} @{run}(ptr {place})")

    return e(f"fadd {type_} {double(-0.0)}, {pairwise(0, length)}")


def _run(name: str, type_: str) -> list[str]:
    """A function that sums a whole run."""
    e = Emitter()
    out = _summed(e, "%row", type_, RUN)
    return [f"define internal {type_} @{name}(ptr %row) noinline {{", *e.lines, f"  ret {type_} {out}", "}"]


def _summed(e: Emitter, row: Name, type_: str, length: int) -> Name:
    vector = f"<{LANES} x {type_}>"
    total = ""
    for at in range(0, length, LANES):
        place = e(f"getelementptr {type_}, ptr {row}, i64 {at}")
        part = e(f"load {vector}, ptr {place}, align {8 if type_ == 'double' else 4}")
        total = e.do(f"fadd {vector}", total, part) if total else part
    lanes = [e(f"extractelement {vector} {total}, i32 {k}") for k in range(LANES)]
    while len(lanes) > 1:
        lanes = [e.do(f"fadd {type_}", lanes[k], lanes[k + 1]) for k in range(0, len(lanes), 2)]
    return lanes[0]


def _extreme(e: Emitter, dtype: DType, length: int, greatest: bool) -> tuple[Name, Name]:
    """The bits of floats as integers of the same order, in which zeros of both signs differ; in doubt of NaNs."""
    type_, word = register(dtype), "smax" if greatest else "smin"
    bits = 64 if type_ == "double" else 32
    width = min(length, 512 // bits)
    ints, floats, flags = f"<{width} x i{bits}>", f"<{width} x {type_}>", f"<{width} x i1>"
    top = (1 << bits - 1) - 1

    def each(number: int) -> str:
        return "<" + ", ".join([f"i{bits} {number}"] * width) + ">"

    def ordered(x: Name, vector: str, many: Callable[[int], str]) -> Name:
        sign = e(f"ashr {vector} {x}, {many(bits - 1)}")
        return e(f"xor {vector} {x}, {e(f'and {vector} {sign}, {many(top)}')}")

    e.lines += ["  br label %each", "each:", "  %i = phi i64 [0, %entry], [%next, %each]",
                f"  %best = phi {ints} [{each(-top - 1 if greatest else top)}, %entry], [%better, %each]",
                f"  %nans = phi {flags} [zeroinitializer, %entry], [%more, %each]"]
    place = e(f"getelementptr {type_}, ptr %row, i64 %i")
    part = e(f"load {floats}, ptr {place}, align {bits // 8}")
    key = ordered(e(f"bitcast {floats} {part} to {ints}"), ints, each)
    better = e.call(f"llvm.{word}.v{width}i{bits}", ints, "%best", key)
    e.lines += [f"  %better = or {ints} {better}, zeroinitializer",
                f"  %more = or {flags} %nans, {e(f'fcmp uno {floats} {part}, {part}')}",
                f"  %next = add nuw nsw i64 %i, {width}", f"  %on = icmp ult i64 %next, {length}",
                "  br i1 %on, label %each, label %done", "done:"]
    found = e.call(f"llvm.vector.reduce.{word}.v{width}i{bits}", f"i{bits}", "%better", arg_type=ints)
    out = e(f"bitcast i{bits} {ordered(found, f'i{bits}', str)} to {type_}")
    some = e.call(f"llvm.vector.reduce.or.v{width}i1", "i1", "%more", arg_type=flags)
    return out, e(f"zext i1 {some} to i32")
