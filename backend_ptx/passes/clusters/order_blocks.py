"""Number the blocks of a triangular kernel from its far end, so that the longest run first; run those that read the
same tiles together. The rewriting is that of `turn_grid` and `group_grid`."""

from __future__ import annotations

from tilewright.backend_ptx import decisions
from tilewright.backend_ptx.compilation import Compilation
from tilewright.tileir.analysis.unit import Preserved
from tilewright.tileir.passes.group_grid import group_grid
from tilewright.tileir.passes.turn_grid import turn_grid


def order_blocks(c: Compilation) -> Preserved:
    """Before loops are split, which hides how many iterations they have together."""
    kept = turn_grid(c, lambda axis: c.decide(decisions.longest_first(axis)))
    c.forget(kept)
    return kept & group_grid(c, lambda chosen: c.decide(decisions.together(*chosen)))
