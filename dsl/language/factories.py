"""Tiles made from nothing."""

from __future__ import annotations

from typing import Any, overload

from tilewright.language.builtin import builtin
from tilewright.language.classes import Shape, Tile
from tilewright.tileir.dtypes import DType

__all__ = [
    "full", "zeros", "ones", "arange",
]


@overload
def full(shape: Shape, fill_value: Any, dtype: DType) -> Tile: ...
@overload
def full(shape: Shape, fill_value: Any, dtype: DType, *, device: int | None = None, stream: Any = None) -> Any: ...
@builtin("full", arrays=True)  # type: ignore[misc]  # what more arrays take, the rule of tiles has not
def full(shape: Shape, fill_value: Any, dtype: DType) -> Tile:
    """A tile with the same value everywhere.

    Arguments: `shape`, a constant power of two or a tuple of them (`()` makes a scalar);
        `fill_value`, a number or a scalar; `dtype`, any dtype.
    Result: a tile of that shape and dtype. The value is converted as by `astype`: integers wrap, floats round. On the
        host, where `device=` and `stream=` may be given, it is a DeviceArray of any shape, as of [`empty`](#empty).
    Errors: TileTypeError for a shape that is no constant or no power of two, and for a value with axes.

    Example:
        print(ct.full((4,), 300, ct.uint8))       # [44, 44, 44, 44]
        print(ct.full((2, 2), ct.bid(0), ct.float16))  # [[0.000000, 0.000000], [0.000000, 0.000000]]
        ct.full((3,), 0, ct.int32)                # TileTypeError
    """


@overload
def zeros(shape: Shape, dtype: DType) -> Tile: ...
@overload
def zeros(shape: Shape, dtype: DType, *, device: int | None = None, stream: Any = None) -> Any: ...
@builtin("zeros", arrays=True)  # type: ignore[misc]  # what more arrays take, the rule of tiles has not
def zeros(shape: Shape, dtype: DType) -> Tile:
    """A tile of zeros.

    Arguments: `shape`, a constant power of two or a tuple of them (`()` makes a scalar);
        `dtype`, any dtype.
    Result: a tile of that shape and dtype. On the host, where `device=` and `stream=` may be given, it is a
        DeviceArray of any shape, as of [`empty`](#empty).
    Errors: TileTypeError for a shape that is no constant or no power of two.

    Example:
        acc = ct.zeros((2, 4), ct.float32)
        print(acc.shape, acc.dtype)               # (2, 4) float32
        ct.zeros((ct.bid(0),), ct.float32)        # TileTypeError
    """


@overload
def ones(shape: Shape, dtype: DType) -> Tile: ...
@overload
def ones(shape: Shape, dtype: DType, *, device: int | None = None, stream: Any = None) -> Any: ...
@builtin("ones", arrays=True)  # type: ignore[misc]  # what more arrays take, the rule of tiles has not
def ones(shape: Shape, dtype: DType) -> Tile:
    """A tile of ones.

    Arguments: `shape`, a constant power of two or a tuple of them (`()` makes a scalar);
        `dtype`, any dtype.
    Result: a tile of that shape and dtype. On the host, where `device=` and `stream=` may be given, it is a
        DeviceArray of any shape, as of [`empty`](#empty).
    Errors: TileTypeError for a shape that is no constant or no power of two.

    Example:
        print(ct.ones((4,), ct.int8))             # [1, 1, 1, 1]
        print(ct.sum(ct.ones((8, 8), ct.int32)))  # 64
    """


@builtin("arange")
def arange(size: int, /, *, dtype: DType, start: Any = 0, step: Any = 1) -> Tile:
    """The tile start, start + step, start + 2 step, ...

    Arguments: `size`, a constant power of two; `dtype`, an integer or float dtype, always by name; `start` and `step`,
        numbers or scalars, converted to the dtype first.
    Result: a tile of shape (size,), computed in `dtype`: integers wrap.
    Errors: TileTypeError for a size that is no constant power of two, and without `dtype`.

    Example:
        print(ct.arange(4, dtype=ct.int32))                      # [0, 1, 2, 3]
        print(ct.arange(4, dtype=ct.int32, start=10, step=-2))   # [10, 8, 6, 4]
        print(ct.bid(0) * 4 + ct.arange(4, dtype=ct.int32))      # [0, 1, 2, 3]
        ct.arange(4)                                             # TileTypeError
    """
