"""The words of what was decided for a gradient; `tilewright decisions` prints them."""

from __future__ import annotations

from tilewright.tileir.diagnostics import Span
from tilewright.tileir.plan import Decision

WAYS = {
    "alone": ("stores", "asked for by overwrite: each element is read once"),
    "apart": ("loads and stores", "no two blocks or lanes read the same elements"),
    "parts": ("partial gradients, added up by a second kernel",
              "blocks may read the same elements, and the kernel is deterministic"),
    "shared": ("atomic additions", "blocks or lanes may read the same elements"),
    "tiles": ("one tile in each block", "asked for by by_tiles: what other blocks add is computed there"),
}
"""How a gradient comes to its array, and why."""


def addition(name: str, way: str, span: Span) -> Decision:
    """How a gradient is added to."""
    how, why = WAYS[way]
    return Decision("gradient", f"{name}: {how}", why, span)


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


def of_blocks(span: Span, words: int, bits: int) -> Decision:
    """What becomes of what each block of the kernel computes, where a gradient goes by its own tiles."""
    return Decision(
        "block_values", "kept in the workspace by a kernel before",
        f"each tile needs what blocks make by loops, products or reductions: {words} words of {bits} bits a block",
        span)


def restarted(span: Span, name: str, residual: str) -> Decision:
    """What becomes of a loop that carries a running maximum on which no output depends."""
    named = name or "a running maximum"
    if residual:
        return Decision("carried_values", f"{named}: from the residual {residual}",
                        "outputs do not depend on it, so that the loop adds up from its last value on", span)
    return Decision("carried_values", f"{named}: by a loop of its own",
                    "outputs do not depend on it, so that the loop adds up from its last value on, and nothing is "
                    "recomputed for each iteration", span)


def residual(span: Span, name: str, read: bool) -> Decision:
    """Whether what the forward kernel has stored is read."""
    if read:
        return Decision("residual", f"{name}: read", "to compute it again takes a loop, a product or a reduction", span)
    return Decision("residual", f"{name}: recomputed", "element by element, which costs less than to read it", span)
