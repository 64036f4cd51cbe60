"""Bulk copies from shared memory to arrays by TMA (PTX ISA: "cp.async.bulk.tensor", "cp.async.bulk.wait_group")."""

from __future__ import annotations

from tilewright.backend_ptx.instructions.table import instruction
from tilewright.backend_ptx.layouts.boxes import box_starts
from tilewright.backend_ptx.layouts.bulk import ROW_BYTES
from tilewright.backend_ptx.layouts.flat import LANE_BITS, log2
from tilewright.backend_ptx.llvm.builder import Builder, Val
from tilewright.backend_ptx.lower.bulk import check_alignment, coordinate, shared_number
from tilewright.backend_ptx.lower.context import Context
from tilewright.backend_ptx.lower.registry import lower
from tilewright.backend_ptx.lower.shared import SharedRef, linear, slot_bytes
from tilewright.backend_ptx.ops import bulk as ops
from tilewright.backend_ptx.tensor_maps import copy_of, tensor_map_spec


@lower(ops.TmaStore)
def tma_store(ctx: Context, op: ops.TmaStore) -> None:
    """One instruction for each TMA box, or a few, in one group. Only the first lanes of warps start copies; the group
    of any other lane is empty."""
    b = ctx.b
    copy, spec = copy_of(op), tensor_map_spec(op, ctx.function.params)
    ref: SharedRef = ctx[op.buffer]
    starts = box_starts(ref.type.layout, op.box)
    box_bytes = slot_bytes(ref.type) // len(starts)
    check_alignment(ref, copy.swizzle)
    assert op.warps == 1 or box_bytes % (8 * copy.swizzle or ROW_BYTES) == 0, f"boxes of {ref.type} cut the swizzle"
    # A power of two of boxes for each warp: the warp's number chooses by its bits where its own start.
    each = len(starts) // op.warps
    chosen = _starting_threads(ctx, op.warps)
    source = b.add(shared_number(ctx, ref), _by_warp(ctx, [box_bytes * each << k for k in range(log2(op.warps))]))
    first = {k: _by_warp(ctx, [starts[each << bit][k] for bit in range(log2(op.warps))]) for k in copy.dims}
    map_, record = ctx.param(ctx.abi.map_position(spec)), instruction(f"tma.store.{len(copy.dims)}d")
    for number, box in enumerate(starts[:each]):
        for start, offset in copy.pieces:
            place = [b.add(coordinate(ctx, op.index[k], op.steps[k], box[k] + start[k]), first[k]) for k in copy.dims]
            record.emit(b, map_, b.add(source, number * box_bytes + offset), *place, chosen)
    instruction("tma.store.commit").emit(b)


def _by_warp(ctx: Context, contributions: list[int]) -> Val:
    """What the bits of the warp's number add up to; each contributes bits of its own."""
    bits = tuple((LANE_BITS + k, part) for k, part in enumerate(contributions) if part)

    def make(b: Builder) -> Val:
        warp = ctx.uniform("uniform warp", lambda _: ctx.warp())  # else ptxas would put a loop around the copy
        return linear(b, b.shl(warp, LANE_BITS), list(bits))

    return ctx.once(("by warp", bits), make)


def _starting_threads(ctx: Context, warps: int) -> Val:
    """Whether this thread is the first lane of one of the first `warps` warps."""
    if warps == 1:
        return ctx.once("first thread", lambda b: b.icmp("eq", ctx.tid, 0))
    assert warps == ctx.warps, f"{warps} warps of {ctx.warps} have boxes"
    return ctx.once("first lane", lambda b: b.icmp("eq", ctx.lane(), 0))


@lower(ops.TmaStoreWait)
def tma_store_wait(ctx: Context, op: ops.TmaStoreWait) -> None:
    instruction(f"tma.store.{'wait' if op.written else 'wait_read'}.{op.pending}").emit(ctx.b)
