"""Number the blocks of a triangular kernel from its far end, so that the longest run first; run those that read the
same tiles together. The rewriting is that of `turn_grid` and `group_grid`."""

from __future__ import annotations

from tilewright.backend_ptx import decisions
from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.passes.clusters.groups import group_blocks
from tilewright.tileir.analysis.neighbours import moves_elements
from tilewright.tileir.analysis.shared_reads import free_rows
from tilewright.tileir.analysis.trends import Trend, slope
from tilewright.tileir.analysis.unit import ALL, Preserved
from tilewright.tileir.ops.matmul import Mma
from tilewright.tileir.passes.turn_grid import turn_grid

# Tiles that a launch starts a block for, where blocks walk over them: many where a ring brings the next one, few where
# elements are moved one by one, which no ring does. On an H100, of a copy's rate with the best of 1 to 16 blocks an SM,
# and with 4, 8 and 16 tiles each: softmax of 512 bfloat16 columns 0.84, 0.98, 0.97, 0.95, of 1024 0.95, 0.97, 0.95,
# 0.94, layer norm of 1024 0.91, 0.98, 0.96, 0.95, of 5000 0.93, 0.89, 0.93, 0.93. With 8, 4, 2 and 1 tiles: softmax of
# 5001 0.83, 0.86, 0.88, 0.87, of 50257 0.74, 0.73, 0.75, 0.80, layer norm of 5001 0.70, 0.72, 0.74, 0.74, of 20001
# 0.62, 0.62, 0.62, 0.59, running sums of 1001 0.87, 0.88, 0.92, 0.95.
MANY, FEW = 8, 2


def order_blocks(c: Compilation) -> Preserved:
    """Before loops are split, which hides how many iterations they have together. Where CTAs may loop over blocks with
    fewer and fewer iterations, `loop_over_blocks` chooses their order."""
    rows = () if c.has(Mma) else free_rows(c)
    if rows:
        c.plan.walked = (*rows, FEW if moves_elements(c.function) else MANY)
        c.decide(decisions.WALKED)
    kept = turn_grid(c, lambda axis: c.decide(decisions.longest_first(axis)))
    c.forget(kept)
    allowed = c.function.switches.loop_over_blocks and c.limits.loop_over_blocks and c.has(Mma)
    c.plan.falling = allowed and slope(c, 0) is Trend.SHRINKS
    return kept & (ALL if c.plan.falling else group_blocks(c))
