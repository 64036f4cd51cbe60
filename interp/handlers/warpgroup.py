"""Products of warpgroups, by opcode: in program order a product happens at once and a wait hands its value on."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.interp.chunk import Regs, spread
from tilewright.interp.handlers.machine import Fn, Slot
from tilewright.interp.handlers.matmul import mma
from tilewright.interp.lowering import Lowering, Step
from tilewright.interp.registry import impl, impl_step


@impl_step("stage")
def stage(op: Any, low: Lowering) -> Step:
    """A copy: what is done to the tile later does not show."""
    src, dst = low.slot_list((op.src, op.result))
    grow = low.varies(op.result) and not low.varies(op.src)

    def step(regs: Regs) -> None:
        regs[dst] = np.array(spread(regs[src], regs[0].count) if grow else regs[src])
    return step


@impl_step("shared_view")
def shared_view(op: Any, low: Lowering) -> Step:
    """The slot with its axes permuted, then in its new shape."""
    buffer, dst = low.slot_list((op.buffer, op.result))
    slot, varies = Slot(op, low), low.varies(op.buffer)
    axes = (0, *(a + 1 for a in op.axes)) if varies else op.axes

    def step(regs: Regs) -> None:
        view = regs[buffer][slot(regs)].transpose(axes)
        regs[dst] = view.reshape(*view.shape[:varies], *op.shape)
    return step


@impl("proxy_fence")
@impl("take_turn")
@impl("pass_turn")
def nothing(op: Any, low: Lowering) -> Fn:
    return lambda: None


@impl("wgmma")
def wgmma(op: Any, low: Lowering) -> Fn:
    """As mma; a buffer holds its tile as registers do."""
    return mma(op, low)


@impl_step("wgmma_wait")
def wgmma_wait(op: Any, low: Lowering) -> Step:
    src, dst = low.slot_list(op.accs), low.slot_list(op.results)

    def step(regs: Regs) -> None:
        for s, d in zip(src, dst, strict=True):
            regs[d] = regs[s]
    return step
