"""The words of what was decided for a gradient; `tilewright decisions` prints them."""

from __future__ import annotations

from tilewright.tileir.diagnostics import Span
from tilewright.tileir.plan import Decision


def addition(name: str, apart: bool, span: Span) -> Decision:
    """How a gradient is added to."""
    if apart:
        return Decision("gradient", f"{name}: loads and stores", "no two blocks read the same elements", span)
    return Decision("gradient", f"{name}: atomic additions", "blocks may read the same elements", span)


def recomputed(span: Span) -> Decision:
    """What becomes of values that a loop carries."""
    return Decision(
        "carried_values", "recomputed",
        "adjoints need them at each iteration: each runs the loop up to there, which takes no memory", span)
