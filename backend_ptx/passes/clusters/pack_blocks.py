"""Let short blocks of one or two warps share CTAs of four: an SM starts one CTA in the time in which it could move some
kilobytes, and holds no more than 32.

    before: func @row_sum(...) plan(warps=1) { ... }
    after:  func @row_sum(...) plan(warps=1, packed=4) { ... }

Each block has its own warps and runs what it would run alone; those beyond the grid's end leave at once.
"""

from __future__ import annotations

from tilewright.backend_ptx import decisions
from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.ops.shared import Barrier
from tilewright.tileir.analysis.places import in_few_places
from tilewright.tileir.analysis.unit import ALL, Preserved
from tilewright.tileir.ops.memory import Gather, Load, Scatter, Store

WARPS = 4  # of a CTA: one for each scheduler of an SM
# Bytes that a block reads and writes, up to which its start takes longer: 80 ns, 31 bytes a ns and SM on an H200.
# Packed softmax and norms of 1024 bfloat16 columns (4096 bytes) take 0.99 to 1.03 of the time, of 512 0.80 to 0.87.
MOST_BYTES = 2560


def pack_blocks(c: Compilation) -> Preserved:
    """After `plan_shared_memory` and `insert_barriers`: blocks that share neither memory nor barriers."""
    plan, switches = c.plan, c.function.switches
    blocks = WARPS // plan.warps
    if switches.pack_blocks and not switches.linear_grid and blocks > 1 and _alone(c):
        plan.packed = blocks
        c.decide(decisions.packed(blocks))
    return ALL


def _alone(c: Compilation) -> bool:
    """Whether a block is short, without a loop, and has a CTA for no other reason than to run. Blocks that print keep
    theirs: lines of blocks that start together would mingle."""
    plan, hints = c.plan, c.hints
    if plan.cluster > 1 or plan.roles or plan.shared_bytes or plan.occupancy or hints.occupancy is not None:
        return False
    ops = list(c.function.walk())
    if any(op.repeats or op.effects().io or (isinstance(op, Barrier) and op.scope == "block") for op in ops):
        return False
    read = [op.result for op in ops if isinstance(op, Gather) or (
        isinstance(op, Load) and not in_few_places(op.index, c.facts))]
    written = [op.value for op in ops if isinstance(op, Scatter | Store)]
    return bool(sum(value.type.bytes for value in (*read, *written)) <= MOST_BYTES)
