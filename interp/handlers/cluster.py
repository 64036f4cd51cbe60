"""Exchanges between CTAs of a cluster, by opcode: a chunk holds whole clusters, whose blocks lie side by side."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.interp.chunk import Regs
from tilewright.interp.lowering import Lowering, Step, impl_step
from tilewright.interp.shared import SharedRegion

Array = Any


def gathered(value: Array, ctas: int, varies: bool, count: int) -> Array:
    """Every block's values along an axis behind that of the blocks."""
    if not varies:
        return np.broadcast_to(value, (ctas, *np.shape(value)))
    clusters = value.reshape(count // ctas, ctas, *value.shape[1:])
    return np.repeat(clusters, ctas, axis=0)


@impl_step("cluster_gather")
def cluster_gather(op: Any, low: Lowering) -> Step:
    src, dst, varies = low.slot(op.src), low.slot(op.result), low.varies(op.src)

    def step(regs: Regs) -> None:
        regs[dst] = gathered(regs[src], op.ctas, varies, regs[0].count)
    return step


@impl_step("cluster_exchange")
def cluster_exchange(op: Any, low: Lowering) -> Step:
    """Always by the first slot."""
    buffer, value, slot = low.slot_list((op.buffer, op.value, op.result))
    varies = low.varies(op.value)
    ctas, shape = op.buffer.type.shape[0], op.buffer.type.shape

    def step(regs: Regs) -> None:
        count = regs[0].count
        new = gathered(regs[value], ctas, varies, count)
        chunk = regs[0]
        rows = new.reshape(*((chunk.count,) if varies else ()), *shape)
        chunk.memory.write(SharedRegion(regs[buffer], 0, chunk), rows, op)
        regs[slot] = np.zeros(count, np.int32)
    return step
