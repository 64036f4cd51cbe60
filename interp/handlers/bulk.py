"""Bulk copies, by opcode: in program order a copy is a load or a store at once."""

from __future__ import annotations

from typing import Any

from tilewright.interp.chunk import Regs
from tilewright.interp.formats import format_of
from tilewright.interp.handlers.memory import tile_reader, tile_writer
from tilewright.interp.lowering import Lowering, Step, impl_step
from tilewright.interp.shared import SharedRegion, reader, slot_of


@impl_step("tma_load")
def tma_load(op: Any, low: Lowering) -> Step:
    """Loads at once into the slot."""
    buffer, slot = low.slot(op.buffer), slot_of(op, low)
    narrows = op.buffer.type.dtype is not op.array.type.dtype
    round_ = format_of(op.buffer.type.dtype).round
    read = tile_reader(op, low, any(low.varies(v) for v in (op.array, *op.index)))

    def step(regs: Regs) -> None:
        chunk, tile = regs[0], read(regs)
        chunk.memory.write(SharedRegion(regs[buffer], slot(regs), chunk), round_(tile) if narrows else tile, op)
    return step


@impl_step("tma_store")
def tma_store(op: Any, low: Lowering) -> Step:
    """Stores at once what the buffer holds."""
    read, write = reader(op.buffer, op, low), tile_writer(op, low, op.shape, low.varies(op.buffer))

    def step(regs: Regs) -> None:
        write(regs, read(regs))
    return step
