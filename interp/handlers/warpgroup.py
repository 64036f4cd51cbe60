"""wgmma, by opcode: in program order an MMA happens at once and a wait hands its value on."""

from __future__ import annotations

from typing import Any

from tilewright.interp.chunk import Regs
from tilewright.interp.formats import format_of
from tilewright.interp.handlers.target_products import product_on
from tilewright.interp.lowering import Lowering, Step, impl_step
from tilewright.interp.shared import SharedBuffer, SharedRegion, reader, slot_of


@impl_step("stage")
def stage(op: Any, low: Lowering) -> Step:
    """A copy: what is done to the tile later does not show."""
    src, dst = low.slot_list((op.src, op.result))
    shape, held, varies = op.src.type.shape, format_of(op.src.type.dtype).held, low.varies(op.result)

    def step(regs: Regs) -> None:
        chunk = regs[0]
        data = chunk.memory.allocate((chunk.count, *shape) if varies else shape, held, chunk, op)
        regs[dst] = SharedBuffer(op.result.hint, data, varies)
        chunk.memory.write(SharedRegion(regs[dst], None, chunk), regs[src], op)
    return step


@impl_step("shared_view")
def shared_view(op: Any, low: Lowering) -> Step:
    """The slot with its axes permuted, then in its new shape."""
    buffer, dst = low.slot_list((op.buffer, op.result))
    slot = slot_of(op, low)

    def step(regs: Regs) -> None:
        regs[dst] = regs[buffer].view(slot(regs), op.axes, op.shape)
    return step


@impl_step("wgmma")
def wgmma(op: Any, low: Lowering) -> Step:
    """As mma; a buffer holds its tile as registers do."""
    multiply, acc, dst = product_on(op, low), low.slot(op.acc), low.slot(op.result)
    a, b = reader(op.a, op, low), reader(op.b, op, low)

    def step(regs: Regs) -> None:
        regs[dst] = multiply(a(regs), b(regs), regs[acc])
    return step


@impl_step("wgmma_wait")
def wgmma_wait(op: Any, low: Lowering) -> Step:
    src, dst = low.slot_list(op.accs), low.slot_list(op.results)

    def step(regs: Regs) -> None:
        for s, d in zip(src, dst, strict=True):
            regs[d] = regs[s]
        regs[0].memory.synchronise(regs[0], op)
    return step
