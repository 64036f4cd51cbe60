"""Conversions of layout that stay inside a thread (the others have become shared memory accesses)."""

from __future__ import annotations

from tilewright.backend_ptx.lower.context import Context
from tilewright.backend_ptx.lower.registers import rearranged
from tilewright.backend_ptx.lower.registry import lower
from tilewright.backend_ptx.ops import layout as ops


@lower(ops.ConvertLayout)
def convert_layout(ctx: Context, op: ops.ConvertLayout) -> None:
    ctx.set(op.result, rearranged(ctx, ctx[op.src], ctx.layout(op.src), ctx.layout(op.result)))
