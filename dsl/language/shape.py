"""Changes of shape."""

from __future__ import annotations

from typing import Any

from tilewright.language.builtin import builtin
from tilewright.language.classes import Index, Shape, Tile

__all__ = [
    "reshape", "broadcast_to", "expand_dims", "permute", "transpose", "cat", "extract",
]


@builtin("reshape")
def reshape(x: Any, /, shape: Shape) -> Tile:
    """The same elements in row-major order under another shape (a tuple; one length may be -1)."""


@builtin("broadcast_to")
def broadcast_to(x: Any, /, shape: Shape) -> Tile:
    """Repeat axes of length 1, and add axes in front, up to `shape`."""


@builtin("expand_dims")
def expand_dims(x: Any, /, axis: int) -> Tile:
    """Add an axis of length 1 at `axis` of the result (negative: from its end)."""


@builtin("permute")
def permute(x: Any, /, axes: tuple[int, ...]) -> Tile:
    """Reorder axes: axis k of the result is axis `axes[k]` of x."""


@builtin("transpose")
def transpose(x: Any, /, axis0: int | None = None, axis1: int | None = None) -> Tile:
    """Exchange two axes; a tile with two axes needs neither argument."""


@builtin("cat")
def cat(tiles: tuple[Any, ...], /, axis: int) -> Tile:
    """Join two tiles of one dtype and shape along an axis."""


@builtin("extract")
def extract(x: Any, /, index: Index, shape: Shape) -> Tile:
    """The part of `shape` at the tile coordinates `index` (in units of that shape)."""
