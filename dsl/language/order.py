"""Order and places inside a tile: sort, argsort, topk, histogram; join, split, interleave; take, roll, flip."""

from __future__ import annotations

from typing import Any

from tilewright.language.builtin import builtin
from tilewright.language.classes import Tile

__all__ = ["sort", "argsort", "topk", "histogram", "join", "split", "interleave", "take", "roll", "flip"]


@builtin("sort")
def sort(x: Any, /, axis: int = -1, *, descending: bool = False) -> Tile:
    """The elements along an axis in ascending order.

    Arguments: `x`, a tile of any dtype but the restricted floats; `axis`, a constant int.
    Result: a tile of the same shape and dtype. -0.0 is before 0.0, NaNs are last.
    Options: `descending` reverses the order; NaNs are first then.
    Errors: TileTypeError for an axis that is out of range, for a scalar, and for restricted floats.

    Example:
        t = (ct.arange(8, dtype=ct.int32) * 5) % 8
        print(t, ct.sort(t))                      # [0, 5, 2, 7, 4, 1, 6, 3] [0, 1, 2, 3, 4, 5, 6, 7]
        print(ct.sort(t.reshape((2, 4)), 1, descending=True))   # [[7, 5, 2, 0], [6, 4, 3, 1]]
    """


@builtin("argsort")
def argsort(x: Any, /, axis: int = -1, *, descending: bool = False) -> Tile:
    """The positions that the elements of `sort` had before; equal elements keep their order.

    Arguments: `x`, a tile of any dtype of at most 32 bits but the restricted floats; `axis`, a constant int.
    Result: an int32 tile of the same shape.
    Options: `descending` as in `sort`; equal elements keep their order then, too.
    Errors: TileTypeError for 64-bit dtypes and restricted floats, and for an axis that is out of range.

    Example:
        t = (ct.arange(4, dtype=ct.int32) * 3) % 4
        print(t, ct.argsort(t, descending=True))  # [0, 3, 2, 1] [1, 2, 3, 0]
        ct.argsort(t.astype(ct.int64))            # TileTypeError
    """


@builtin("topk")
def topk(x: Any, k: int, /, axis: int = -1, *, largest: bool = True) -> tuple[Tile, Tile]:
    """The k largest elements along an axis, the largest first, and their positions.

    Arguments: `x` and `axis` as in `argsort`; `k`, a constant power of two, at most the axis's length.
    Result: two tiles whose axis has the length k: elements, and positions in int32. Of equal elements the first ones
        are taken. A NaN counts as the largest.
    Options: `largest=False` gives the smallest elements, the smallest first.
    Errors: TileTypeError for a k that is no power of two or too large, for 64-bit dtypes and restricted floats.

    Example:
        t = (ct.arange(8, dtype=ct.int32) * 5) % 8
        values, places = ct.topk(t, 2)
        print(values, places)                     # [7, 6] [3, 6]
        ct.topk(t, 3)                             # TileTypeError
    """


@builtin("histogram")
def histogram(x: Any, bins: int, /) -> Tile:
    """How often each of the numbers 0 to bins - 1 is among the elements.

    Arguments: `x`, an integer tile; `bins`, a constant power of two, at most 2**14.
    Result: an int32 tile of the shape (bins,); other numbers are not counted.
    Errors: TileTypeError for floats and bools, for a number of bins that is no power of two, and for too many.

    Example:
        t = ct.arange(8, dtype=ct.int32) * 3 // 5
        print(t, ct.histogram(t, 4))              # [0, 0, 1, 1, 2, 3, 3, 4] [2, 2, 1, 2]
        ct.histogram(t, 5)                        # TileTypeError
    """


@builtin("join")
def join(x: Any, y: Any, /) -> Tile:
    """x and y side by side in a new last axis of length 2.

    Operands: tiles of one dtype that broadcast.
    Result: a tile of the common shape with an axis of length 2 behind it.
    Errors: TileTypeError for different dtypes, and for shapes that do not broadcast.

    Example:
        t = ct.arange(2, dtype=ct.int32)
        print(ct.join(t, t + 10))                 # [[0, 10], [1, 11]]
        ct.join(t, t * 1.0)                       # TileTypeError
    """


@builtin("split")
def split(x: Any, /) -> tuple[Tile, Tile]:
    """The two halves along a last axis of length 2: the inverse of `join`.

    Operands: a tile whose last axis has the length 2.
    Result: two tiles without that axis.
    Errors: TileTypeError for another last axis.

    Example:
        even, odd = ct.split(ct.arange(8, dtype=ct.int32).reshape((4, 2)))
        print(even, odd)                          # [0, 2, 4, 6] [1, 3, 5, 7]
        ct.split(even)                            # TileTypeError
    """


@builtin("interleave")
def interleave(x: Any, y: Any, /) -> Tile:
    """The elements of x and y by turns along the last axis: `join` with its new axis merged into the one before.

    Operands: tiles of one dtype that broadcast.
    Result: a tile of the common shape with a last axis of twice the length.
    Errors: TileTypeError for different dtypes, and for shapes that do not broadcast.

    Example:
        t = ct.arange(4, dtype=ct.int32)
        print(ct.interleave(t, -t))               # [0, 0, 1, -1, 2, -2, 3, -3]
        even, odd = ct.split(ct.interleave(t, -t).reshape((4, 2)))
        print(even, odd)                          # [0, 1, 2, 3] [0, -1, -2, -3]
    """


@builtin("take")
def take(x: Any, index: Any, /, axis: Any = None) -> Tile:
    """The elements of x at other positions along an axis.

    Arguments: `index`, an integer tile of the positions: of one axis, for every row of x the same; or of as many axes
        as x has, for each element of the result one. Other axes than `axis` broadcast. `axis`, a constant int; it may
        be left out where x has one axis.
    Result: a tile of the dtype of x whose `axis` is as long as that of `index`. Positions count modulo the length of
        the axis, so that -1 is the last element. The values are those of x, bit by bit.
    Errors: TileTypeError for an index that is no integer tile, for shapes that do not fit, and for scalars.

    Example:
        t = ct.arange(4, dtype=ct.int32) * 10
        print(ct.take(t, ct.astile((3, 0), dtype=ct.int32)))            # [30, 0]
        print(ct.take(t, ct.arange(8, dtype=ct.int32) - 2))             # [20, 30, 0, 10, 20, 30, 0, 10]
        m = t.reshape((2, 2))
        print(ct.take(m, ct.astile(((0, 1), (1, 1)), dtype=ct.int8), 1))    # [[0, 10], [30, 30]]
        print(ct.take(t, ct.argsort(-t)))                               # [30, 20, 10, 0]
        ct.take(t, t * 0.5)                                             # TileTypeError
    """


@builtin("roll")
def roll(x: Any, shift: Any, /, axis: Any = None) -> Tile:
    """x with its elements moved by `shift` positions along an axis; those that leave it come in at the other end.

    Arguments: `shift`, a signed integer scalar; below zero they move to the front. `axis` as in `take`.
    Result: a tile of the same shape and dtype.
    Errors: TileTypeError for a shift that is no signed integer scalar, for a missing axis, and for scalars.

    Example:
        t = ct.arange(4, dtype=ct.int32)
        print(ct.roll(t, 1), ct.roll(t, ct.bid(0) - 1))                 # [3, 0, 1, 2] [1, 2, 3, 0]
        print(ct.roll(t.reshape((2, 2)), 1, axis=0))                    # [[2, 3], [0, 1]]
        ct.roll(t, 0.5)                                                 # TileTypeError
    """


@builtin("flip")
def flip(x: Any, /, axis: Any = None) -> Tile:
    """x with the elements along an axis in reverse order.

    Arguments: `axis` as in `take`.
    Result: a tile of the same shape and dtype.
    Errors: TileTypeError for a missing axis, and for scalars.

    Example:
        t = ct.arange(4, dtype=ct.int32)
        print(ct.flip(t), ct.flip(t.reshape((2, 2)), axis=0))           # [3, 2, 1, 0] [[2, 3], [0, 1]]
        ct.flip(t.reshape((2, 2)))                                      # TileTypeError
    """
