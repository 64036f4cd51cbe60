"""What the compiler decided for a kernel on one target, and why, as lines of text: `tilewright decisions`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright.inspecting.deciding import decisions_of

if TYPE_CHECKING:
    from tilewright.kernel import tile_kernel
    from tilewright.tileir.plan import Decision


def decisions(kernel: tile_kernel, args: tuple[Any, ...], target: str | None) -> list[str]:
    """`name: value`, one line each: the target, what computes products, what passes decided, and how tiles travel.
    `args` and `target` are those of `kernel.ptx`. TileError for what does not compile."""
    name, found = find(kernel, args, target)
    return [f"target: {name}", *map(str, found)]


def find(kernel: tile_kernel, args: tuple[Any, ...], target: str | None) -> tuple[str, list[Decision]]:
    """The target's name, and the decisions as records."""
    stages = kernel.lower(*args, target=target)
    return stages.target.name, decisions_of(stages)
