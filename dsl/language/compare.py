"""Comparisons, and the choice by one."""

from __future__ import annotations

from typing import Any

from tilewright.language.builtin import builtin
from tilewright.language.classes import Tile

__all__ = [
    "equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "where",
]


@builtin("equal")
def equal(x: Any, y: Any, /) -> Tile:
    """x == y, element by element. A NaN equals nothing.

    Operands: tiles or numbers; shapes broadcast, dtypes promote. Two tiles of one restricted float compare too.
    Result: a bool tile of the common shape.
    Errors: TileTypeError for dtypes that do not promote; TileValueError for a number that the tile's integer dtype
        does not hold.

    Example:
        t = ct.arange(4, dtype=ct.int32)
        print(ct.equal(t, 2), t % 2 == 0)   # [0, 0, 1, 0] [1, 0, 1, 0]
        ct.full((2,), 1, ct.int8) == 300                    # TileValueError
    """


@builtin("not_equal")
def not_equal(x: Any, y: Any, /) -> Tile:
    """x != y, element by element. A NaN differs from everything, itself included.

    Operands: tiles or numbers; shapes broadcast, dtypes promote. Two tiles of one restricted float compare too.
    Result: a bool tile of the common shape.
    Errors: TileTypeError for dtypes that do not promote; TileValueError for a number that the tile's integer dtype
        does not hold.

    Example:
        nan = ct.full((2,), float("nan"), ct.float32)
        print(ct.not_equal(nan, nan))                       # [1, 1]
    """


@builtin("less")
def less(x: Any, y: Any, /) -> Tile:
    """x < y, element by element; False with a NaN.

    Operands: tiles or numbers; shapes broadcast, dtypes promote. Two tiles of one restricted float compare too.
    Result: a bool tile of the common shape.
    Errors: TileTypeError for dtypes that do not promote; TileValueError for a number that the tile's integer dtype
        does not hold.

    Example:
        t = ct.arange(4, dtype=ct.int32)
        print(ct.less(t, 2), 0 < t)                         # [1, 1, 0, 0] [0, 1, 1, 1]
        t < ct.uint32(2)                                    # TileTypeError
    """


@builtin("less_equal")
def less_equal(x: Any, y: Any, /) -> Tile:
    """x <= y, element by element; False with a NaN.

    Operands: tiles or numbers; shapes broadcast, dtypes promote. Two tiles of one restricted float compare too.
    Result: a bool tile of the common shape.
    Errors: TileTypeError for dtypes that do not promote; TileValueError for a number that the tile's integer dtype
        does not hold.

    Example:
        t = ct.arange(4, dtype=ct.int32)
        causal = ct.less_equal(t, t[:, None])               # a lower triangle
        print(ct.sum(causal, axis=1))                       # [1, 2, 3, 4]
    """


@builtin("greater")
def greater(x: Any, y: Any, /) -> Tile:
    """x > y, element by element; False with a NaN.

    Operands: tiles or numbers; shapes broadcast, dtypes promote. Two tiles of one restricted float compare too.
    Result: a bool tile of the common shape.
    Errors: TileTypeError for dtypes that do not promote; TileValueError for a number that the tile's integer dtype
        does not hold.

    Example:
        t = ct.arange(4, dtype=ct.int32)
        print(ct.greater(t, 1.5))                           # [0, 0, 1, 1]
    """


@builtin("greater_equal")
def greater_equal(x: Any, y: Any, /) -> Tile:
    """x >= y, element by element; False with a NaN.

    Operands: tiles or numbers; shapes broadcast, dtypes promote. Two tiles of one restricted float compare too.
    Result: a bool tile of the common shape.
    Errors: TileTypeError for dtypes that do not promote; TileValueError for a number that the tile's integer dtype
        does not hold.

    Example:
        t = ct.arange(4, dtype=ct.int32)
        print(ct.sum(ct.greater_equal(t, 1)))               # 3
    """


@builtin("where")
def where(cond: Any, x: Any, y: Any, /) -> Tile:
    """x where `cond` is true (not 0), else y, element by element. Both are computed.

    Operands: `cond` any number or tile that is compared with 0; x and y tiles or numbers. All three broadcast; x and y
        promote.
    Result: a tile of the common shape, the promoted dtype of x and y.
    Errors: TileTypeError for x and y that do not promote, for shapes that do not broadcast.

    Example:
        t = ct.arange(4, dtype=ct.float32) - 2.0
        print(ct.where(t > 0, t, 0.0))                      # [0.000000, 0.000000, 0.000000, 1.000000]
        print(ct.where(t, 1, -1))                           # [1, 1, -1, 1]
        ct.where(t > 0, ct.int32(1), ct.uint32(1))          # TileTypeError
    """
