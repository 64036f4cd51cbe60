"""Changes of shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.language.builtin import builtin
from tilewright.language.classes import Index, Shape, Tile

__all__ = [
    "reshape", "broadcast_to", "expand_dims", "permute", "transpose", "cat", "extract",
]


@builtin("reshape")
def reshape(x: Any, /, shape: Shape) -> Tile:
    """The same elements, in row-major order, under another shape.

    Arguments: `shape`, a tuple of constant powers of two with the same number of elements; one length may be -1. `()`
        is for a tile of one element.
    Result: a tile of that shape and the same dtype.
    Errors: TileTypeError for another number of elements, two lengths of -1, and an int in place of the tuple.

    Example:
        t = ct.arange(8, dtype=ct.int32)
        print(ct.reshape(t, (2, 4)))              # [[0, 1, 2, 3], [4, 5, 6, 7]]
        print(t.reshape((2, 2, -1)).shape)        # (2, 2, 2)
        t.reshape((2, 8))                         # TileTypeError
    """


@builtin("broadcast_to")
def broadcast_to(x: Any, /, shape: Shape) -> Tile:
    """Repeat axes of length 1, and add axes in front, up to `shape`.

    Arguments: `shape`, a tuple of constant powers of two.
    Result: a tile of that shape and the same dtype.
    Errors: TileTypeError for an axis that is neither 1 nor the wanted length.

    Example:
        row = ct.arange(2, dtype=ct.int32)
        print(ct.broadcast_to(row, (2, 2)))            # [[0, 1], [0, 1]]
        print(ct.broadcast_to(row[:, None], (2, 2)))   # [[0, 0], [1, 1]]
        ct.broadcast_to(row, (4,))                     # TileTypeError
    """


@builtin("expand_dims")
def expand_dims(x: Any, /, axis: int) -> Tile:
    """Add an axis of length 1.

    Arguments: `axis`, a constant: its place in the result (negative: from the end).
    Result: a tile with one axis more.
    Errors: TileTypeError for an axis that the result does not have, or one that is not a constant.

    Example:
        t = ct.arange(4, dtype=ct.int32)
        print(ct.expand_dims(t, 0).shape, ct.expand_dims(t, -1).shape)   # (1, 4) (4, 1)
        print(t[None, :].shape, t[:, None].shape)                        # (1, 4) (4, 1)
        ct.expand_dims(t, 3)                                             # TileTypeError
    """


@builtin("permute")
def permute(x: Any, /, axes: tuple[int, ...]) -> Tile:
    """Reorder axes: axis k of the result is axis `axes[k]` of x.

    Arguments: `axes`, a constant tuple that names each axis once (negative: from the end).
    Result: a tile of the same dtype, with the lengths in the new order.
    Errors: TileTypeError for an axis that is missing, named twice or out of range.

    Example:
        t = ct.zeros((2, 4, 8), ct.float32)
        print(ct.permute(t, (2, 0, 1)).shape)     # (8, 2, 4)
        print(t.permute((0, -1, 1)).shape)        # (2, 8, 4)
        t.permute((0, 1, 1))                      # TileTypeError
    """


@builtin("transpose")
def transpose(x: Any, /, axis0: int | None = None, axis1: int | None = None) -> Tile:
    """Exchange two axes.

    Arguments: `axis0` and `axis1`, constants; a tile with two axes needs neither.
    Result: a tile of the same dtype with the two lengths exchanged.
    Errors: TileTypeError for a tile of fewer than two axes, and of more without both arguments.

    Example:
        t = ct.arange(4, dtype=ct.int32).reshape((2, 2))
        print(ct.transpose(t))                                            # [[0, 2], [1, 3]]
        print(ct.zeros((2, 4, 8), ct.float32).transpose(0, 2).shape)      # (8, 4, 2)
        ct.arange(4, dtype=ct.int32).transpose()                          # TileTypeError
    """


@builtin("cat")
def cat(tiles: Sequence[Any], /, axis: int) -> Tile:
    """Join tiles along an axis.

    Arguments: `tiles`, a tuple or list of one, two, four, ... tiles of one dtype and shape; `axis`, a constant
        (negative: from the end).
    Result: a tile of that dtype, as much longer along the axis as there are tiles.
    Errors: TileTypeError for other dtypes or shapes, and for a number of tiles that is no power of two.

    Example:
        t = ct.arange(2, dtype=ct.int32)
        print(ct.cat((t, t + 10), 0))             # [0, 1, 10, 11]
        print(ct.cat((t[None, :], t[None, :]), 0).shape)   # (2, 2)
        ct.cat((t, t / 2), 0)                     # TileTypeError
    """


@builtin("extract")
def extract(x: Any, /, index: Index, shape: Shape) -> Tile:
    """A part of a tile, by tile coordinates as in `load`: it starts at the element index * shape.

    Arguments: `index`, one signed integer scalar per axis; `shape`, one constant per axis that divides the tile's
        length, or `()` for one element as a scalar.
    Result: a tile of `shape` and the same dtype. A scalar index out of range is undefined.
    Errors: TileTypeError for lengths that do not divide the tile's, and for a constant index out of range.

    Example:
        t = ct.arange(8, dtype=ct.int32)
        print(ct.extract(t, (1,), (2,)))          # [2, 3]
        print(t.extract(ct.bid(0), 4))            # [0, 1, 2, 3]
        print(t.extract((5,), ()))                # 5
        t.extract((4,), (2,))                     # TileTypeError
    """
