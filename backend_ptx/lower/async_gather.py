"""Asynchronous gathers: cp.async of 4, 8 or 16 bytes a time, where index tiles say (PTX ISA 9.7.9.25)."""

from __future__ import annotations

from tilewright.backend_ptx.instructions.table import instruction
from tilewright.backend_ptx.llvm.builder import Val
from tilewright.backend_ptx.lower.async_copy import where_active
from tilewright.backend_ptx.lower.context import Context
from tilewright.backend_ptx.lower.gather import Elements
from tilewright.backend_ptx.lower.registry import lower
from tilewright.backend_ptx.lower.shared import SharedAccess, SharedRef, slot_offset
from tilewright.backend_ptx.ops import async_copy as ops


@lower(ops.AsyncGather)
def async_gather(ctx: Context, op: ops.AsyncGather) -> None:
    """The threads that own elements copy them, all or none of a thread's by one branch."""
    where_active(ctx, op.active, op.tile, lambda: _copy(ctx, op))


def _copy(ctx: Context, op: ops.AsyncGather) -> None:
    b, layout = ctx.b, op.tile.layout
    assert layout is not None
    ref: SharedRef = ctx[op.buffer]
    elements = Elements(ctx, op)
    heads = range(0, elements.lanes, op.vector)
    place = SharedAccess(ctx, ref, layout, b.const("i32", 0), slot_offset(ctx, ref.type, op.slot, op.ahead))
    bytes_ = op.vector * place.size
    # Only 16-byte copies can bypass the L1 cache.
    record = instruction(f"cp.async.{'cg' if bytes_ == 16 else 'ca'}.{bytes_}")
    inside = _bytes_inside(elements, op, heads, place.size)
    for i, (head, pointer) in enumerate(zip(heads, elements.pointers(heads), strict=True)):
        to = b.cast("ptrtoint", place.pointer_of(head), "i32")
        record.emit(b, to, pointer, b.const("i32", bytes_) if inside is None else b.extract(inside, i))


def _bytes_inside(elements: Elements, op: ops.AsyncGather, heads: range, size: int) -> Val | None:
    """How many bytes of each copy are wanted; the rest of the destination becomes zero. None: all."""
    b, whole = elements.ctx.b, elements.predicate(heads)
    if whole is None:
        return None
    room = b.const("i32", op.vector, len(heads))
    if elements.may_end(op.dense, op.vector):
        room = b.intrinsic("llvm.smin", [room, elements.left(op.dense, heads)])
    return b.select(whole, b.mul(room, size), b.const("i32", 0, len(heads)))
