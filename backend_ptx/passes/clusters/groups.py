"""Blocks that read the same tiles run together: by `order_blocks`, or where CTAs loop over blocks."""

from __future__ import annotations

from tilewright.backend_ptx import decisions
from tilewright.backend_ptx.compilation import Compilation
from tilewright.tileir.analysis.unit import Preserved
from tilewright.tileir.passes.group_grid import group_grid


def group_blocks(c: Compilation) -> Preserved:
    """In the order in which a wave reads the fewest bytes."""
    return group_grid(c, lambda chosen: c.decide(decisions.together(*chosen)), 0 if c.plan.falling else None)
