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
    """x with a part replaced; the inverse of `extract`.

    Arguments: `index`, one signed integer scalar per axis, in units of the shape of `value`; `value`, a tile of the
        same dtype and number of axes (a scalar replaces one element).
    Result: a tile of the shape and dtype of x.
    Errors: TileTypeError for another dtype or number of axes, and for a constant index out of range.

    Example:
        t = ct.zeros((8,), ct.int32)
        print(ct.insert(t, (1,), ct.ones((2,), ct.int32)))   # [0, 0, 1, 1, 0, 0, 0, 0]
        print(t.insert((7,), ct.int32(5)))                   # [0, 0, 0, 0, 0, 0, 0, 5]
        t.insert((4,), ct.ones((2,), ct.int32))              # TileTypeError
    """


@builtin("astile")
def astile(value: Any, /, *, dtype: DType) -> Tile:
    """A tile from scalars.

    Arguments: `value`, a scalar or number, or a nested tuple of those with a power of two of items at each level;
        `dtype`, always by name.
    Result: a tile with one axis per level, its elements converted to `dtype` as by `astype`.
    Errors: TileTypeError for tuples of different lengths at one level, or of a length that is no power of two.

    Example:
        i = ct.bid(0)
        print(ct.astile((i, i + 1), dtype=ct.float32))       # [0.000000, 1.000000]
        print(ct.astile(((1, 2), (3, 4)), dtype=ct.int8))    # [[1, 2], [3, 4]]
        ct.astile((1, 2, 3), dtype=ct.int8)                  # TileTypeError
    """


@builtin("pack_to_bytes")
def pack_to_bytes(x: Any, /) -> Tile:
    """The bits of all elements, as bytes.

    Operands: a tile of any dtype but bool_ with a multiple of 8 bits in all.
    Result: a 1-D uint8 tile, little endian; of four-bit elements two in each byte, the first in the low half.
    Errors: TileTypeError for bool tiles, and for a single four-bit element.

    Example:
        t = ct.arange(2, dtype=ct.uint16) + ct.uint16(256)
        print(ct.pack_to_bytes(t))                           # [0, 1, 1, 1]
        f = ct.full((4,), 1.0, ct.float4_e2m1fn)
        print(f"{ct.pack_to_bytes(f):02x}")                  # [22, 22]
        ct.pack_to_bytes(t > 1)                              # TileTypeError
    """


@builtin("unpack_from_bytes")
def unpack_from_bytes(x: Any, /, dtype: DType) -> Tile:
    """Bytes read as elements of a dtype; the inverse of `pack_to_bytes`.

    Operands: a 1-D uint8 tile; `dtype`, any but bool_.
    Result: a 1-D tile of `dtype`.
    Errors: TileTypeError for another tile, and for bytes that make no whole number of elements.

    Example:
        b = ct.arange(4, dtype=ct.uint8)
        print(ct.unpack_from_bytes(b, ct.uint16))                       # [256, 770]
        print(ct.unpack_from_bytes(b, ct.float4_e2m1fn).shape)          # (8,)
        ct.unpack_from_bytes(b.astype(ct.int8), ct.uint16)              # TileTypeError
    """
