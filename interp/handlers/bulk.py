"""Bulk copies and their mbarriers, by opcode: in program order a copy is a load at once, and nobody has to wait."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tilewright.interp.chunk import Regs
from tilewright.interp.formats import format_of
from tilewright.interp.handlers.machine import Fn, Slot
from tilewright.interp.lowering import Lowering, Step
from tilewright.interp.registry import HANDLERS, impl, impl_step
from tilewright.tileir.types import TileType


@impl("mbarrier_init")
@impl("mbarrier_wait")
@impl("mbarrier_arrive")
@impl("mbarrier_expect")
@impl("tma_store_wait")
def nothing(op: Any, low: Lowering) -> Fn:
    return lambda *operands: None


@impl_step("tma_load")
def tma_load(op: Any, low: Lowering) -> Step:
    """Loads at once into the slot."""
    buffer, slot = low.slot(op.buffer), Slot(op, low)
    type_ = TileType(op.array.type.dtype, op.shape)
    rounds = op.buffer.type.dtype is not type_.dtype
    round_ = format_of(op.buffer.type.dtype).round
    result = low.temporary(type_, any(low.varies(v) for v in (op.array, *op.index)))
    tile = low.slot(result)
    fields = {name: getattr(op, name) for name in ("array", "index", "shape", "steps", "order", "padding")}
    load: Any = HANDLERS["load"].handler(SimpleNamespace(**fields, result=result), low)

    def step(regs: Regs) -> None:
        load(regs)
        regs[buffer][slot(regs)] = round_(regs[tile]) if rounds else regs[tile]
        regs[tile] = None
    return step


@impl_step("tma_store")
def tma_store(op: Any, low: Lowering) -> Step:
    """Stores at once what the buffer holds."""
    buffer = low.slot(op.buffer)
    value = low.temporary(TileType(op.buffer.type.dtype, op.shape), low.varies(op.buffer))
    tile = low.slot(value)
    fields = {name: getattr(op, name) for name in ("array", "index", "steps", "order")}
    store: Any = HANDLERS["store"].handler(SimpleNamespace(**fields, value=value, check_bounds=True), low)

    def step(regs: Regs) -> None:
        regs[tile] = regs[buffer]
        store(regs)
        regs[tile] = None
    return step
