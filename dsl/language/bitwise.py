"""Bits of two integers."""

from __future__ import annotations

from typing import Any

from tilewright.language.builtin import builtin
from tilewright.language.classes import Tile

__all__ = [
    "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_lshift", "bitwise_rshift", "popcount", "clz", "ffs",
]


@builtin("bitwise_and")
def bitwise_and(x: Any, y: Any, /) -> Tile:
    """x & y, bit by bit; of bools logical and.

    Operands: integers, or bools; shapes broadcast. Two tiles must have the same dtype; a number takes the tile's.
    Result: the common shape, the dtype of the operands.
    Errors: TileTypeError for floats and for two dtypes; TileValueError for a number out of the dtype's range.

    Example:
        t = ct.arange(4, dtype=ct.int32)
        print(ct.bitwise_and(t, 1))                         # [0, 1, 0, 1]
        print((t > 0) & (t < 3))                            # [0, 1, 1, 0]
        t & ct.int64(1)                                     # TileTypeError
    """


@builtin("bitwise_or")
def bitwise_or(x: Any, y: Any, /) -> Tile:
    """x | y, bit by bit; of bools logical or.

    Operands: integers, or bools; shapes broadcast. Two tiles must have the same dtype; a number takes the tile's.
    Result: the common shape, the dtype of the operands.
    Errors: TileTypeError for floats and for two dtypes; TileValueError for a number out of the dtype's range.

    Example:
        t = ct.arange(4, dtype=ct.uint8)
        print(ct.bitwise_or(t, 4))                          # [4, 5, 6, 7]
        t | 256                                             # TileValueError
    """


@builtin("bitwise_xor")
def bitwise_xor(x: Any, y: Any, /) -> Tile:
    """x ^ y, bit by bit; of bools `!=`.

    Operands: integers, or bools; shapes broadcast. Two tiles must have the same dtype; a number takes the tile's.
    Result: the common shape, the dtype of the operands.
    Errors: TileTypeError for floats and for two dtypes; TileValueError for a number out of the dtype's range.

    Example:
        t = ct.arange(4, dtype=ct.int32)
        print(ct.bitwise_xor(t, 1))                         # [1, 0, 3, 2]
        t ^ 1.5                                             # TileTypeError
    """


@builtin("bitwise_lshift")
def bitwise_lshift(x: Any, y: Any, /) -> Tile:
    """x << y; bits that leave are lost.

    Operands: integer tiles or numbers that broadcast and promote; counts from 0 to the width less 1, others are
        undefined.
    Result: the common shape and the promoted dtype.
    Errors: TileTypeError for floats and bools, and for signed with unsigned.

    Example:
        t = ct.arange(4, dtype=ct.int32)
        print(ct.bitwise_lshift(1, t))                      # [1, 2, 4, 8]
        t << 1.0                                            # TileTypeError
    """


@builtin("bitwise_rshift")
def bitwise_rshift(x: Any, y: Any, /) -> Tile:
    """x >> y: arithmetic for signed x (the sign stays), logical for unsigned x.

    Operands: integer tiles or numbers that broadcast and promote; counts from 0 to the width less 1, others are
        undefined.
    Result: the common shape and the promoted dtype.
    Errors: TileTypeError for floats and bools, and for signed with unsigned.

    Example:
        t = ct.full((2,), -8, ct.int32)
        print(ct.bitwise_rshift(t, 1))                      # [-4, -4]
        print(ct.bitcast(t, ct.uint32) >> 28)               # [15, 15]
    """


@builtin("popcount")
def popcount(x: Any, /) -> Tile:
    """How many bits of x are 1.

    Operands: an integer tile, or a typed constant; negative numbers in two's complement of the width of their dtype.
    Result: an int32 tile of the same shape.
    Errors: TileTypeError for floats and bools.

    Example:
        t = ct.arange(4, dtype=ct.int32)
        print(ct.popcount(t), ct.popcount(-t))              # [0, 1, 1, 2] [0, 32, 31, 31]
        print(ct.popcount(~t.astype(ct.uint8)))             # [8, 7, 7, 6]
        ct.popcount(t > 1)                                  # TileTypeError
    """


@builtin("clz")
def clz(x: Any, /) -> Tile:
    """How many bits stand above the highest 1 of x: count of leading zeros.

    Operands: an integer tile, or a typed constant; negative numbers in two's complement.
    Result: an int32 tile of the same shape; of 0 the width of the dtype.
    Errors: TileTypeError for floats and bools.

    Example:
        t = ct.arange(4, dtype=ct.int32)
        print(ct.clz(t), 31 - ct.clz(t))                    # [32, 31, 30, 30] [-1, 0, 1, 1]
        ct.clz(t * 1.0)                                     # TileTypeError
    """


@builtin("ffs")
def ffs(x: Any, /) -> Tile:
    """The position of the lowest 1 of x, counted from 1; 0 where there is none.

    Operands: an integer tile, or a typed constant; negative numbers in two's complement.
    Result: an int32 tile of the same shape.
    Errors: TileTypeError for floats and bools.

    Example:
        t = ct.arange(4, dtype=ct.int32)
        print(ct.ffs(t), ct.ffs(t * 8))                     # [0, 1, 2, 1] [0, 4, 5, 4]
        ct.ffs(t * 1.0)                                     # TileTypeError
    """
