"""Insert a barrier before each access that must wait for another thread's earlier access, and nowhere else.

    before: shared_store(buffer=%0, value=%x)
            %y: tile<64x64xf32, #1> = shared_load(buffer=%0, shape=(64, 64))
    after:  shared_store(buffer=%0, value=%x)
            barrier()
            %y: tile<64x64xf32, #1> = shared_load(buffer=%0, shape=(64, 64))

A warp barrier (`scope="warp"`) suffices if no element leaves its warp. Which accesses are pending where, through
branches and loops, tileir/analysis/pending.py knows.
"""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.ops.shared import Barrier
from tilewright.backend_ptx.passes.barriers.hazards import WARP, Hazards
from tilewright.tileir.analysis.pending import CTA, NOTHING, needed_barriers
from tilewright.tileir.core import Block, Op
from tilewright.tileir.engines import Scope


def insert_barriers(c: Compilation) -> None:
    """Needs the offsets of plan_shared_memory."""
    hazards = Hazards(c)
    needed = needed_barriers(c.function.body, hazards.accesses, hazards.between)
    _write(c.function.body, needed, WARP if c.plan.warps == 1 else CTA)


def _write(block: Block, before: Mapping[Op, Scope], strongest: Scope) -> None:
    """Write the barriers into the blocks. In a kernel of one warp a warp barrier is enough."""
    ops: list[Op] = []
    for op in block.ops:
        for inner in op.blocks:
            _write(inner, before, strongest)
        needed = min(before.get(op, NOTHING), strongest)
        if needed != NOTHING:
            barrier = Barrier(scope="warp" if needed == WARP else "block")
            barrier.span = op.span
            ops.append(barrier)
        ops.append(op)
    block.ops = ops
