"""Tiles made from nothing."""

from __future__ import annotations

from typing import Any

from tilewright.language.builtin import builtin
from tilewright.language.classes import Shape, Tile
from tilewright.tileir.dtypes import DType

__all__ = [
    "full", "zeros", "ones", "arange",
]


@builtin("full")
def full(shape: Shape, fill_value: Any, dtype: DType) -> Tile:
    """A tile with the same value everywhere; a number wraps or rounds into the dtype."""


@builtin("zeros")
def zeros(shape: Shape, dtype: DType) -> Tile:
    """A tile of zeros."""


@builtin("ones")
def ones(shape: Shape, dtype: DType) -> Tile:
    """A tile of ones."""


@builtin("arange")
def arange(size: int, /, *, dtype: DType, start: Any = 0, step: Any = 1) -> Tile:
    """The tile start, start + step, ... of `size` elements (a constant power of two).

        i * 256 + ct.arange(256, dtype=ct.int32)   # element positions of block i
    """
