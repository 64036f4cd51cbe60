"""Asynchronous copies: cp.async of 4, 8 or 16 bytes a time, zero fill at edges, commit and wait (PTX ISA 9.7.9.25)."""

from __future__ import annotations

from collections.abc import Callable

from tilewright.backend_ptx.instructions.copies import MAX_PENDING_GROUPS
from tilewright.backend_ptx.instructions.record import Instruction
from tilewright.backend_ptx.instructions.table import instruction
from tilewright.backend_ptx.layouts.queries import register_offsets
from tilewright.backend_ptx.layouts.shared import copy_vector
from tilewright.backend_ptx.llvm.builder import Val
from tilewright.backend_ptx.lower.addresses import Offsets, TileAccess
from tilewright.backend_ptx.lower.context import Context
from tilewright.backend_ptx.lower.positions import owner
from tilewright.backend_ptx.lower.registry import lower
from tilewright.backend_ptx.lower.shared import SharedAccess, SharedRef, slot_offset
from tilewright.backend_ptx.ops import async_copy as ops
from tilewright.tileir.analysis.places import same_for_all
from tilewright.tileir.core import Value
from tilewright.tileir.types import TileType

# By the number of bytes. Only 16-byte copies can bypass the L1 cache. A tile that all CTAs load goes through L1, where
# the next CTA of the SM hits it.
_COPY = {4: "cp.async.ca.4", 8: "cp.async.ca.8", 16: "cp.async.cg.16"}
_COPY_OF_ALL = {**_COPY, 16: "cp.async.ca.16"}


@lower(ops.AsyncLoad)
def async_load(ctx: Context, op: ops.AsyncLoad) -> None:
    """The threads that own elements copy them, all or none of a thread's by one branch."""
    where_active(ctx, op.active, op.tile, lambda: _copy(ctx, op))


def where_active(ctx: Context, active: Value, tile: TileType, copy: Callable[[], None]) -> None:
    """Emit `copy` for the threads that own elements of a tile, where the condition holds."""
    b = ctx.b
    assert tile.layout is not None, "an asynchronous copy has no layout"
    go, mine = ctx[active], owner(ctx, tile.layout)
    if mine is not None:
        go = b.and_(go, mine)
    if go.const:
        copy()
        return
    start, done = b.label("copy"), b.label("copied")
    b.cbr(go, start, done)
    b.start(start)
    copy()
    b.br(done)
    b.start(done)


def _copy(ctx: Context, op: ops.AsyncLoad) -> None:
    b, layout = ctx.b, op.tile.layout
    assert layout is not None
    ref: SharedRef = ctx[op.buffer]
    assert ref.type.layout is not None
    tile = TileAccess(ctx, op.array, op.index, op.tile.shape, op.steps, op.order, layout, op.check_bounds)
    place = SharedAccess(ctx, ref, layout, b.const("i32", 0), slot_offset(ctx, ref.type, op.slot, op.ahead))
    count = min(tile.vector, copy_vector(ref.type.layout, layout, place.size))
    record = instruction((_COPY_OF_ALL if same_for_all(op.index) else _COPY)[count * place.size])
    copies = [
        (b.cast("ptrtoint", place.pointer_of(register), "i32"), offsets)
        for register, offsets in enumerate(register_offsets(layout)) if register % count == 0
    ]
    if op.slot is None and tile.is_cut:
        _copy_branching(tile, record, copies, count)
        return
    for to, offsets in copies:
        record.emit(b, to, tile.pointer(offsets), _bytes_inside(tile, offsets, count))


def _copy_branching(tile: TileAccess, record: Instruction, copies: list[tuple[Val, Offsets]], count: int) -> None:
    """Copies outside of loops: without a predicate per access if the whole tile is inside. The branch has another
    merit: ptxas puts copies, for whose end nothing in sight waits, behind all other instructions of their basic block,
    which may wait long for what they load.
    """
    b = tile.ctx.b
    tile.prepare([offsets for _, offsets in copies])
    whole, edge, done = b.label("copy_whole"), b.label("copy_edge"), b.label("started")
    b.cbr(tile.whole(), whole, edge)
    b.start(whole)
    for to, offsets in copies:
        record.emit(b, to, tile.pointer(offsets), b.const("i32", count * tile.bytes))
    b.br(done)
    b.start(edge)
    for to, offsets in copies:
        record.emit(b, to, tile.pointer(offsets), _bytes_inside(tile, offsets, count))
    b.br(done)
    b.start(done)


def _bytes_inside(tile: TileAccess, offsets: tuple[int, ...], count: int) -> Val:
    """How many bytes of an access lie in the array; the rest of the destination becomes zero."""
    b = tile.ctx.b
    inside = tile.room(offsets, count)
    return b.const("i32", count * tile.bytes) if inside is None else b.mul(inside, tile.bytes)


@lower(ops.AsyncCommit)
def async_commit(ctx: Context, op: ops.AsyncCommit) -> None:
    instruction("cp.async.commit").emit(ctx.b)


@lower(ops.AsyncWait)
def async_wait(ctx: Context, op: ops.AsyncWait) -> None:
    """Waiting for more groups than asked is right too, and no instruction can leave more in flight."""
    instruction(f"cp.async.wait.{min(op.pending, MAX_PENDING_GROUPS)}").emit(ctx.b)
