"""Number the blocks of a triangular kernel from its far end, so that the longest run first; run those that read the
same tiles together. The rewriting is that of `turn_grid` and `group_grid`."""

from __future__ import annotations

from tilewright.backend_ptx import decisions
from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.passes.clusters.groups import group_blocks
from tilewright.tileir.analysis.shared_reads import free_rows
from tilewright.tileir.analysis.trends import Trend, slope
from tilewright.tileir.analysis.unit import ALL, Preserved
from tilewright.tileir.ops.matmul import Mma
from tilewright.tileir.passes.turn_grid import turn_grid


def order_blocks(c: Compilation) -> Preserved:
    """Before loops are split, which hides how many iterations they have together. Where CTAs may loop over blocks with
    fewer and fewer iterations, `loop_over_blocks` chooses their order."""
    c.plan.walked = () if c.has(Mma) else free_rows(c)
    if c.plan.walked:
        c.decide(decisions.WALKED)
    kept = turn_grid(c, lambda axis: c.decide(decisions.longest_first(axis)))
    c.forget(kept)
    allowed = c.function.switches.loop_over_blocks and c.limits.loop_over_blocks and c.has(Mma)
    c.plan.falling = allowed and slope(c, 0) is Trend.SHRINKS
    return kept & (ALL if c.plan.falling else group_blocks(c))
