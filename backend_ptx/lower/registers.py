"""Moves among the registers of one thread."""

from __future__ import annotations

from tilewright.backend_ptx.layouts.convert import Conversion, plan_conversion
from tilewright.backend_ptx.layouts.flat import LANE
from tilewright.backend_ptx.llvm.builder import Builder, Val
from tilewright.backend_ptx.lower.arith import chosen
from tilewright.backend_ptx.lower.context import Context
from tilewright.tileir.layout import Layout


def rearranged(ctx: Context, value: Val, source: Layout, target: Layout) -> Val:
    """A thread's vector in `target`, from that in `source`; the threads must already hold what they need."""
    plan = plan_conversion(source, target)
    assert plan.kind in ("none", "registers"), f"a conversion within threads was expected: {source} to {target}"
    return value if plan.kind == "none" else _apply(ctx, value, plan)


def _apply(ctx: Context, value: Val, plan: Conversion) -> Val:
    for dim, bit, mask in plan.selects:
        value = swapped_if(ctx.b, _thread_bit(ctx, dim, bit), value, mask)
    return ctx.b.shuffle(value, plan.register_map)


def swapped_if(b: Builder, condition: Val, value: Val, mask: int) -> Val:
    """Where the condition (a scalar) holds, register r becomes register r ^ mask."""
    if condition.const == 0:
        return value
    moved = b.shuffle(value, [r ^ mask for r in range(value.n)])
    return chosen(b, condition, moved, value)


def _thread_bit(ctx: Context, dim: str, bit: int) -> Val:
    number = bit if dim == LANE else bit + 5
    return ctx.once(("thread bit", number), lambda b: b.icmp("ne", b.and_(ctx.tid, 1 << number), 0))
