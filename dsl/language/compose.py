"""Tiles from parts, and tiles as bytes."""

from __future__ import annotations

from typing import Any

from tilewright.language.builtin import builtin
from tilewright.language.classes import Tile
from tilewright.tileir.dtypes import DType

__all__ = [
    "insert", "astile", "pack_to_bytes", "unpack_from_bytes",
]


@builtin("insert")
def insert(x: Any, /, index: Any, value: Any) -> Tile:
    """x with the part at the tile coordinates `index` (in units of value's shape) replaced by `value`."""


@builtin("astile")
def astile(value: Any, /, *, dtype: DType) -> Tile:
    """A tile of the scalars in nested tuples (each of a power of two items), converted to `dtype`."""


@builtin("pack_to_bytes")
def pack_to_bytes(x: Any, /) -> Tile:
    """The bits of all elements as a 1-D uint8 tile, little endian; four-bit elements two to a byte, the first low."""


@builtin("unpack_from_bytes")
def unpack_from_bytes(x: Any, /, dtype: DType) -> Tile:
    """The inverse of `pack_to_bytes`: a 1-D uint8 tile read as a 1-D tile of `dtype`."""
