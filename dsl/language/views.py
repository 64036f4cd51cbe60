"""Loads and stores along one axis of element positions."""

from __future__ import annotations

from typing import Any

from tilewright.language.builtin import builtin
from tilewright.language.classes import Array, Tile
from tilewright.tileir.enums import PaddingMode

__all__ = [
    "Slice", "load_advanced_indexing", "store_advanced_indexing",
]


@builtin("Slice")
def Slice(start: Any, length: int) -> Any:
    """A run of `length` (constant power of two) elements from the element `start` on: one axis of an advanced index."""


@builtin("load_advanced_indexing")
def load_advanced_indexing(
    array: Array, indices: Any, /, *, padding_mode: PaddingMode = PaddingMode.UNDETERMINED, latency: int | None = None,
    allow_tma: bool | None = None,
) -> Tile:
    """Rows (or columns, ...) of an array at any positions.

    `indices`: one entry per axis (two axes or more), exactly one a 1-D integer tile of element positions, the others
    `Slice(start, length)`. Elements outside the array take the padding; negative positions are outside.

        t = ct.load_advanced_indexing(a, (rows, ct.Slice(0, 64)))
    """


@builtin("store_advanced_indexing")
def store_advanced_indexing(
    array: Array, indices: Any, tile: Any, /, *, latency: int | None = None, allow_tma: bool | None = None
) -> None:
    """Write a tile where `load_advanced_indexing` with the same indices reads; elements outside are skipped."""
