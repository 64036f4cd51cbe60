"""The grid and its tiles."""

from __future__ import annotations

from typing import Any

from tilewright.language.builtin import builtin
from tilewright.language.classes import Array, Shape, Tile

__all__ = [
    "bid", "num_blocks", "num_tiles", "assume_divisible_by",
]


@builtin("bid")
def bid(axis: int) -> Tile:
    """This block's coordinate along a grid axis.

    Arguments: `axis`, a constant 0, 1 or 2.
    Result: an int32 scalar, from 0 to `num_blocks(axis) - 1`.
    Errors: TileTypeError for another axis, or one that is not a constant.

    Example:
        @ct.tile_kernel
        def kernel(out):
            ct.store(out, (ct.bid(0),), ct.bid(0) * 10)  # each block writes one element

        out = np.zeros(4, np.int32)
        kernel[(4,)](out)
        print(out)  # [ 0 10 20 30]
    """


@builtin("num_blocks")
def num_blocks(axis: int) -> Tile:
    """The number of blocks along a grid axis.

    Arguments: `axis`, a constant 0, 1 or 2.
    Result: an int32 scalar; 1 along an axis that the launch does not name.
    Errors: TileTypeError for another axis, or one that is not a constant.

    Example:
        @ct.tile_kernel
        def kernel(out):
            # A fixed number of blocks shares any number of elements.
            for i in range(ct.bid(0), out.shape[0], ct.num_blocks(0)):
                ct.store(out, (i,), ct.bid(0))

        out = np.zeros(8, np.int32)
        kernel[(3,)](out)
        print(out)  # [0 1 2 0 1 2 0 1]
    """


@builtin("num_tiles")
def num_tiles(array: Array, /, axis: int, shape: Shape, order: Any = "C") -> Tile:
    """How many tiles of `shape` cover the array along an axis: ceil(extent / length).

    Arguments: `axis`, a constant axis of the tile (negative: from the end); `shape` and `order` as in `load`.
    Result: an int32 scalar.
    Errors: TileTypeError for an axis, shape or order that `load` refuses.

    Example:
        @ct.tile_kernel
        def kernel(x):
            print(ct.num_tiles(x, 0, (4, 8)), ct.num_tiles(x, 1, (4, 8)))  # 3 2
            print(ct.num_tiles(x, 0, (4, 8), order="F"))                   # 4

        kernel[(1,)](np.zeros((10, 16), np.float32))
    """


@builtin("assume_divisible_by")
def assume_divisible_by(x: Any, divisor: int) -> Tile:
    """x, with the promise that `divisor` divides it: a hint for the compiler, which then loads with wide accesses.

    Arguments: `x`, an integer scalar; `divisor`, a constant of at least 1.
    Result: x. Where the promise does not hold, what follows is undefined.
    Errors: TileTypeError for a float or a tile with axes, and for a constant that the divisor does not divide.

    Example:
        n = ct.assume_divisible_by(ct.bid(0) * 64, 64)
        print(n)                                  # 0
        ct.assume_divisible_by(10, 4)             # TileTypeError
    """
