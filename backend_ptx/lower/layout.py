"""Layout conversions within a thread, and tiles of which some registers are kept."""

from __future__ import annotations

from tilewright.backend_ptx.lower.context import Context
from tilewright.backend_ptx.lower.registers import rearranged
from tilewright.backend_ptx.lower.registry import lower
from tilewright.tileir.machine_ops import layout as ops


@lower(ops.ConvertLayout)
def convert_layout(ctx: Context, op: ops.ConvertLayout) -> None:
    ctx.set(op.result, rearranged(ctx, ctx[op.src], ctx.layout(op.src), ctx.layout(op.result)))


@lower(ops.KeepRegisters)
def keep_registers(ctx: Context, op: ops.KeepRegisters) -> None:
    """In a strip of the tile `first_register` is the strip's first one."""
    kept, again = ctx[op.kept], ctx[op.again]
    n = kept.n
    count = min(max(op.count - ctx.first_register, 0), n)
    ctx.set(op.result, ctx.b.shuffle(kept, [*range(count), *range(n + count, 2 * n)], again))
