"""Loads and stores of tiles, gathers and scatters."""

from __future__ import annotations

from typing import Any

from tilewright.language.builtin import builtin
from tilewright.language.classes import Array, Index, Shape, Tile
from tilewright.tileir.enums import MemoryOrder, MemoryScope, PaddingMode

__all__ = [
    "load", "store", "gather", "scatter",
]


@builtin("load")
def load(
    array: Array, /, index: Index, shape: Shape, *, order: Any = "C",
    padding_mode: PaddingMode = PaddingMode.UNDETERMINED, check_bounds: bool = True, latency: int | None = None,
    allow_tma: bool | None = None, memory_order: MemoryOrder = MemoryOrder.WEAK,
    memory_scope: MemoryScope = MemoryScope.NONE,
) -> Tile:
    """The tile of `array` at the tile coordinates `index`: it starts at element index * shape.

    `index`: one signed integer scalar per axis; `shape`: constant powers of two (`()` for one element as a scalar).
    `order` "C", "F" or a permutation: axis k of the tile is axis order[k] of the array. Elements outside the array
    take the padding (UNDETERMINED: nothing may be assumed); `check_bounds=False` promises that there are none.
    `latency` (1 to 10) and `allow_tma` are hints.

        t = ct.load(a, (i, j), (64, 64), padding_mode=ct.PaddingMode.ZERO)
    """


@builtin("store")
def store(
    array: Array, /, index: Index, tile: Any, *, order: Any = "C", check_bounds: bool = True,
    latency: int | None = None, allow_tma: bool | None = None, memory_order: MemoryOrder = MemoryOrder.WEAK,
    memory_scope: MemoryScope = MemoryScope.NONE,
) -> None:
    """Write a tile into `array` at the place that `load` with the same index and order reads.

    The tile has one axis per axis of the array (a scalar writes one element) and is converted to the array's dtype
    where that loses nothing; otherwise TileTypeError: cast it with astype. Elements outside the array are skipped.
    """


@builtin("gather")
def gather(
    array: Array, indices: Any, /, *, mask: Any = None, padding_value: Any = 0, check_bounds: bool = True,
    latency: int | None = None,
) -> Tile:
    """Elements at any positions: result[e] = array[indices[0][e], indices[1][e], ...].

    `indices`: a tuple of integer tiles, one per axis, that broadcast together (one axis: the tile itself). Where `mask`
    is False or, with `check_bounds`, a position is negative or past the end, the result is `padding_value`.
    """


@builtin("scatter")
def scatter(
    array: Array, indices: Any, value: Any, /, *, mask: Any = None, check_bounds: bool = True,
    latency: int | None = None,
) -> None:
    """Write elements at any positions; `indices`, `mask` and `check_bounds` as in `gather`.

    `value` broadcasts to the indices. Of elements with the same position one wins, unspecified which.
    """
