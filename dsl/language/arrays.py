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
    """This block's coordinate along a grid axis (constant 0, 1 or 2), an int32 scalar."""


@builtin("num_blocks")
def num_blocks(axis: int) -> Tile:
    """The grid's size along an axis (constant 0, 1 or 2), an int32 scalar."""


@builtin("num_tiles")
def num_tiles(array: Array, /, axis: int, shape: Shape, order: Any = "C") -> Tile:
    """Number of tiles of `shape` along an axis of the array as `load` sees it: ceil(extent / length), int32."""


@builtin("assume_divisible_by")
def assume_divisible_by(x: Any, divisor: int) -> Tile:
    """x, with the promise that the constant `divisor` divides it: a hint for the compiler."""
