"""Loads and stores along one axis of element positions."""

from __future__ import annotations

from typing import Any

from tilewright.language.arrays import Array
from tilewright.language.builtin import builtin
from tilewright.language.classes import Tile
from tilewright.tileir.enums import PaddingMode

__all__ = [
    "Slice", "load_advanced_indexing", "store_advanced_indexing",
]


@builtin("Slice")
def Slice(start: Any, length: int) -> Any:
    """A run of elements along one axis of an advanced index.

    Arguments: `start`, a signed integer scalar, in elements (not in tiles); `length`, a constant power of two.
    Result: an index for `load_advanced_indexing` and `store_advanced_indexing`; helpers may take and return it.
    Errors: TileTypeError for a start that is no signed integer scalar, and a length that is no constant power of two.

    Example:
        @ct.tile_kernel
        def kernel(m):
            rows = ct.arange(2, dtype=ct.int32)
            print(ct.load_advanced_indexing(m, (rows, ct.Slice(1, 2))))    # [[1, 2], [5, 6]]
            ct.Slice(0, 3)                                                 # TileTypeError

        kernel[(1,)](np.arange(8).reshape(2, 4))
    """


@builtin("load_advanced_indexing")
def load_advanced_indexing(
    array: Array, indices: Any, /, *, padding_mode: PaddingMode = PaddingMode.UNDETERMINED, latency: int | None = None,
    allow_tma: bool | None = None,
) -> Tile:
    """Rows (or columns, ...) of an array at any positions.

    Arguments: `indices`, one entry per axis of an array with two axes or more: exactly one a 1-D integer tile of
        element positions, the others `Slice(start, length)`.
    Result: a tile with the array's dtype; its lengths are those of the entries. Elements outside the array, also at
        negative positions, take the padding of `padding_mode`.
    Options: `padding_mode` as in `load`; `latency` and `allow_tma` are hints.
    Errors: TileTypeError for no or several tiles among the entries, for a tile that is not 1-D or not of integers, and
        for a wrong number of entries.

    Example:
        @ct.tile_kernel
        def kernel(table, ids):
            rows = ct.load(ids, 0, 2)
            print(ct.load_advanced_indexing(table, (rows, ct.Slice(0, 4))))  # [[8, 9, 10, 11], [0, 1, 2, 3]]
            ct.load_advanced_indexing(table, (rows, rows))                   # TileTypeError

        kernel[(1,)](np.arange(12).reshape(3, 4), np.array([2, 0]))
    """


@builtin("store_advanced_indexing")
def store_advanced_indexing(
    array: Array, indices: Any, tile: Any, /, *, latency: int | None = None, allow_tma: bool | None = None
) -> None:
    """Write a tile where `load_advanced_indexing` with the same indices reads.

    Arguments: `indices` as there; `tile`, exactly of the shape that they make, converted as by `store`. Elements
        outside the array are skipped.
    Options: `latency` and `allow_tma` are hints.
    Errors: TileTypeError as there, and for a tile of another shape.

    Example:
        @ct.tile_kernel
        def kernel(out):
            rows = ct.arange(2, dtype=ct.int32, start=2, step=-2)      # rows 2 and 0
            ct.store_advanced_indexing(out, (rows, ct.Slice(0, 2)), ct.full((2, 2), 5, ct.int32))
            ct.store_advanced_indexing(out, (rows, ct.Slice(0, 2)), 5)  # TileTypeError

        out = np.zeros((3, 2), np.int32)
        kernel[(1,)](out)
        print(out)
        # [[5 5]
        #  [0 0]
        #  [5 5]]
    """
