"""Comparisons of elements, and of places with a bound that never falls inside a group of neighbouring elements."""

from __future__ import annotations

from tilewright.backend_ptx.llvm.builder import Builder, Val
from tilewright.backend_ptx.lower import floats, integers
from tilewright.backend_ptx.lower.context import Context
from tilewright.backend_ptx.lower.narrow import unpacked
from tilewright.backend_ptx.lower.registry import lower
from tilewright.tileir.dtypes import DType
from tilewright.tileir.layouts.queries import vector_along
from tilewright.tileir.ops import arith as ops


@lower(ops.Eq, ops.Ne, ops.Lt, ops.Le, ops.Gt, ops.Ge)
def compare(ctx: Context, op: ops.Compare) -> None:
    b, dtype, x, y = ctx.b, op.lhs.type.dtype, ctx[op.lhs], ctx[op.rhs]
    group = group_of(ctx, op)
    if group > 1:
        first = list(range(0, x.n, group))
        one = comparison(b, op.opcode, dtype, b.shuffle(x, first), b.shuffle(y, first))
        ctx.set(op.result, b.shuffle(one, [r // group for r in range(x.n)]))
        return
    ctx.set(op.result, comparison(b, op.opcode, dtype, x, y))


def comparison(b: Builder, word: str, dtype: DType, x: Val, y: Val) -> Val:
    """`word` is eq, ne, lt, le, gt or ge; the result is i1."""
    if dtype.is_float:
        if x.elem == "i8":
            x, y = unpacked(b, dtype, x), unpacked(b, dtype, y)
        return b.fcmp("une" if word == "ne" else f"o{word}", floats.extended(b, x), floats.extended(b, y))
    sign = "" if word in ("eq", "ne") else "s" if dtype.is_signed else "u"
    return b.icmp(sign + word, integers.widened(b, x, dtype), integers.widened(b, y, dtype))


def group_of(ctx: Context, op: ops.Compare) -> int:
    """How many neighbouring registers compare alike: `place < bound` is the same for all places of a group if the bound
    is a multiple of the group's length, as columns past the end of a row whose length is a multiple of 16 are. Where
    neither operand rises LLVM sees by itself that they are equal.
    """
    layout = ctx.layout(op.result)
    widths = [vector_along(layout, axis) for axis in range(len(layout.shape))]
    if max(widths, default=1) == 1:
        return 1
    along = zip(widths, *(ctx.runs[value] for value in (op.lhs, op.rhs, op.result)), strict=True)
    return max(min(width, both.stays) if x.rises > 1 or y.rises > 1 else 1 for width, x, y, both in along)
