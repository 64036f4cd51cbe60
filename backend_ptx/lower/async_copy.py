"""Asynchronous copies: cp.async of 4, 8 or 16 bytes a time, zero fill at edges, commit, wait (PTX ISA 9.7.9.25)."""

from __future__ import annotations

from tilewright.backend_ptx.instructions.copies import MAX_PENDING_GROUPS
from tilewright.backend_ptx.instructions.table import instruction
from tilewright.backend_ptx.lower.access import both
from tilewright.backend_ptx.lower.addresses import TileAccess
from tilewright.backend_ptx.lower.context import Context
from tilewright.backend_ptx.lower.gather import Elements
from tilewright.backend_ptx.lower.positions import owner
from tilewright.backend_ptx.lower.registry import emits, lower
from tilewright.backend_ptx.lower.shared import SharedAccess, SharedRef, slot_offset
from tilewright.backend_ptx.ops import async_copy as ops
from tilewright.tileir.analysis.places import same_for_all
from tilewright.tileir.layouts.buffers import copy_vector
from tilewright.tileir.layouts.queries import registers

# By the number of bytes. Only 16-byte copies can bypass the L1 cache. A tile that all CTAs load goes through L1, where
# the next CTA of the SM hits it.
_COPY = {4: "cp.async.ca.4", 8: "cp.async.ca.8", 16: "cp.async.cg.16"}
_COPY_OF_ALL = {**_COPY, 16: "cp.async.ca.16"}


@lower(ops.AsyncLoad)
def async_load(ctx: Context, op: ops.AsyncLoad) -> None:
    """The threads that own elements copy them, all or none of a thread's by one branch."""
    b, layout = ctx.b, ctx.layout_of(op.tile)
    ref: SharedRef = ctx[op.buffer]
    assert ref.type.layout is not None
    with b.when(both(b, ctx[op.active], owner(ctx, layout)), "copy"):
        tile, place = TileAccess(ctx, op, op.tile), _place(ctx, op)
        count = min(tile.vector, copy_vector(ref.type.layout, layout, place.size))
        record = instruction((_COPY_OF_ALL if same_for_all(op.index) else _COPY)[count * place.size])
        targets = [place.number_of(register) for register in range(0, registers(layout), count)]

        def copy(whole: bool) -> None:
            for to, offsets in zip(targets, tile.groups(count), strict=True):
                pointer, inside = tile.pointer(offsets), None if whole else tile.room(offsets, count)
                bytes_ = b.const("i32", count * tile.bytes) if inside is None else b.mul(inside, tile.bytes)
                record.emit(b, to, pointer, bytes_)

        if op.slot is None and tile.widths.is_cut:
            # Outside of loops: without a predicate per access if the whole tile is inside. The branch has another
            # merit: ptxas puts copies, for whose end nothing in sight waits, behind all other instructions of their
            # basic block, which may wait long for what they load.
            b.branch(tile.whole(count), lambda: copy(True), lambda: copy(False), ("whole", "edge"))
        else:
            copy(False)


def _place(ctx: Context, op: ops.AsyncCopy) -> SharedAccess:
    """Where a copy goes."""
    ref: SharedRef = ctx[op.buffer]
    return SharedAccess(ctx, ref, ctx.layout_of(op.tile), slot=slot_offset(ctx, ref, op.slot, op.ahead))


@lower(ops.AsyncGather)
def async_gather(ctx: Context, op: ops.AsyncGather) -> None:
    """As `async_load`, from where index tiles say. Bytes that are not wanted become zero."""
    b = ctx.b
    with b.when(both(b, ctx[op.active], owner(ctx, ctx.layout_of(op.tile))), "copy"):
        elements, place = Elements(ctx, op), _place(ctx, op)
        heads = range(0, elements.lanes, op.vector)
        record = instruction(_COPY[op.vector * place.size])
        whole, room = elements.predicate(heads), b.const("i32", op.vector, len(heads))
        if whole is not None:
            if elements.edges.may_end(op.dense, op.vector):
                room = b.intrinsic("llvm.smin", [room, elements.left(op.dense, heads)])
            room = b.select(whole, room, b.like(room, 0))
        bytes_ = b.mul(room, place.size)
        for i, (head, pointer) in enumerate(zip(heads, elements.pointers(heads), strict=True)):
            record.emit(b, place.number_of(head), pointer, b.extract(bytes_, i))


emits(ops.AsyncCommit, "cp.async.commit")


@lower(ops.AsyncWait)
def async_wait(ctx: Context, op: ops.AsyncWait) -> None:
    """Waiting for more groups than asked is right too, and no instruction can leave more in flight."""
    instruction(f"cp.async.wait.{min(op.pending, MAX_PENDING_GROUPS)}").emit(ctx.b)
