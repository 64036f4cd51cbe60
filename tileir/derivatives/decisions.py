"""The words of what was decided for a gradient; `tilewright decisions` prints them."""

from __future__ import annotations

from tilewright.tileir.diagnostics import Span
from tilewright.tileir.plan import Decision


def addition(name: str, apart: bool, parted: bool, span: Span) -> Decision:
    """How a gradient is added to."""
    if apart:
        return Decision("gradient", f"{name}: loads and stores", "no two blocks or lanes read the same elements", span)
    if parted:
        return Decision("gradient", f"{name}: partial gradients, added up by a second kernel",
                        "blocks may read the same elements, and the kernel is deterministic", span)
    return Decision("gradient", f"{name}: atomic additions", "blocks or lanes may read the same elements", span)


def recomputed(span: Span, trips: int | None) -> Decision:
    """What becomes of values that a loop carries."""
    if trips is not None:
        return Decision(
            "carried_values", "recomputed",
            f"adjoints need them at each iteration: {trips} iterations run {trips * (trips - 1) // 2} more, which "
            "takes no memory", span)
    return Decision(
        "carried_values", "recomputed",
        "adjoints need them at each iteration: each runs the loop up to there, which takes no memory", span)


def kept(span: Span, words: int, bits: int) -> Decision:
    """The same, where a workspace holds some of them."""
    return Decision(
        "carried_values", "kept in the workspace",
        f"adjoints need them at each iteration: {words} words of {bits} bits for each block and slot; an iteration "
        "runs the loop from the nearest slot", span)
