"""Moves among the registers of one thread, and of the same registers between lanes."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.backend_ptx.instructions.table import instruction
from tilewright.backend_ptx.llvm.builder import Builder, Val
from tilewright.backend_ptx.lower.access import elem_bytes
from tilewright.backend_ptx.lower.arith import chosen
from tilewright.backend_ptx.lower.context import Context
from tilewright.tileir.layout import Layout
from tilewright.tileir.layouts.convert import plan_conversion
from tilewright.tileir.layouts.flat import LANE, LANE_BITS


def rearranged(ctx: Context, value: Val, source: Layout, target: Layout) -> Val:
    """A thread's vector in `target`, from that in `source`; the threads must already hold what they need."""
    plan = plan_conversion(source, target)
    assert plan.kind in ("none", "registers"), f"a conversion within threads was expected: {source} to {target}"
    if plan.kind == "none":
        return value
    for dim, bit, mask in plan.selects:
        value = swapped_if(ctx.b, ctx.thread_bit(bit if dim == LANE else bit + LANE_BITS), value, mask)
    return ctx.b.shuffle(value, plan.register_map)


def swapped_if(b: Builder, condition: Val, value: Val, mask: int) -> Val:
    """Where the condition (a scalar) holds, register r becomes register r ^ mask."""
    if condition.const == 0:
        return value
    return chosen(b, condition, b.shuffle(value, [r ^ mask for r in range(value.n)]), value)


def halves(b: Builder, parts: Sequence[Val], bit: int) -> tuple[tuple[Val, ...], tuple[Val, ...]]:
    """The registers of some vectors whose number has the bit 0, and those that have it 1."""
    low = [r for r in range(parts[0].n) if not r >> bit & 1]
    high = [r | 1 << bit for r in low]
    return tuple(b.shuffle(p, low) for p in parts), tuple(b.shuffle(p, high) for p in parts)


def from_lane(b: Builder, value: Val, mode: str, operand: Val) -> Val:
    """The same registers of another lane, by a shuffle: 32 bits at a time, narrower elements one by one."""
    record = instruction(f"shfl.{mode}")
    if value.elem == "i1":
        return b.icmp("ne", from_lane(b, b.cast("zext", value, "i32"), mode, operand), 0)
    size = elem_bytes(value.elem)
    if size < 4:
        bits = b.cast("zext", b.bitcast(value, f"i{8 * size}"), "i32")
        moved = b.each(lambda x: record.emit1(b, x, operand), bits)
        return b.bitcast(b.cast("trunc", moved, f"i{8 * size}"), value.elem)
    moved = b.each(lambda x: record.emit1(b, x, operand), b.bitcast(value, "i32", value.n * size // 4))
    return b.bitcast(moved, value.elem, value.n)
