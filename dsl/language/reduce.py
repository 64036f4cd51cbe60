"""Reductions along axes."""

from __future__ import annotations

from typing import Any

from tilewright.language.builtin import builtin
from tilewright.language.classes import Tile
from tilewright.tileir.enums import RoundingMode

__all__ = [
    "sum", "prod", "max", "min", "argmax", "argmin", "any", "all",
]


@builtin("sum")
def sum(
    x: Any, /, axis: Any = None, *, keepdims: bool = False,
    rounding_mode: RoundingMode | None = None, flush_to_zero: bool = False,
) -> Tile:
    """The sum along axes.

    Arguments: `axis`, a constant int, a tuple of them, or None for all axes.
    Result: the dtype stays (int8 wraps in int8, float16 is rounded to float16; bools become int32), the reduced axes
        disappear. The order of additions is unspecified.
    Options: `keepdims` leaves the reduced axes with length 1. For floats `rounding_mode` RN, RZ, RM or RP; for float32
        `flush_to_zero`.
    Errors: TileTypeError for an axis that is out of range, named twice or no constant, and for restricted floats.

    Example:
        m = ct.arange(8, dtype=ct.int32).reshape((2, 4))
        print(ct.sum(m), ct.sum(m, axis=1), ct.sum(m, (0, 1)))    # 28 [6, 22] 28
        print(m - ct.sum(m, axis=0, keepdims=True))               # [[-4, -5, -6, -7], [0, -1, -2, -3]]
        ct.sum(m, axis=2)                                         # TileTypeError
    """


@builtin("prod")
def prod(
    x: Any, /, axis: Any = None, *, keepdims: bool = False,
    rounding_mode: RoundingMode | None = None, flush_to_zero: bool = False,
) -> Tile:
    """The product along axes.

    Arguments: `axis`, a constant int, a tuple of them, or None for all axes.
    Result: as that of `sum`. The order of multiplications is unspecified.
    Options: `keepdims` leaves the reduced axes with length 1. For floats `rounding_mode` RN, RZ, RM or RP; for float32
        `flush_to_zero`.
    Errors: TileTypeError for an axis that is out of range, named twice or no constant, and for restricted floats.

    Example:
        m = ct.arange(8, dtype=ct.int32).reshape((2, 4))
        print(ct.prod(m + 1, axis=1))                             # [24, 1680]
        print(ct.prod(ct.full((4,), 10, ct.int8)))                # 16
    """


@builtin("max")
def max(
    x: Any, /, axis: Any = None, *, keepdims: bool = False, flush_to_zero: bool = False,
    propagate_nan: bool = False,
) -> Tile:
    """The maximum along axes.

    Arguments: `axis`, a constant int, a tuple of them, or None for all axes.
    Result: the dtype stays (bools become int32), the reduced axes disappear. NaNs are skipped; of NaNs alone the result
        is NaN.
    Options: `keepdims` leaves the reduced axes with length 1. With `propagate_nan` a NaN wins. `flush_to_zero` is for
        float32.
    Errors: TileTypeError for an axis that is out of range, named twice or no constant, and for restricted floats.

    Example:
        m = ct.arange(8, dtype=ct.int32).reshape((2, 4))
        print(ct.max(m), ct.max(m, axis=0))                       # 7 [4, 5, 6, 7]
        holes = ct.where(m > 3, float("nan"), m)
        print(ct.max(holes), ct.max(holes, propagate_nan=True))   # 3.000000 nan
        ct.max(m, axis=(0, 0))                                    # TileTypeError
    """


@builtin("min")
def min(
    x: Any, /, axis: Any = None, *, keepdims: bool = False, flush_to_zero: bool = False,
    propagate_nan: bool = False,
) -> Tile:
    """The minimum along axes.

    Arguments: `axis`, a constant int, a tuple of them, or None for all axes.
    Result: the dtype stays (bools become int32), the reduced axes disappear. NaNs are skipped; of NaNs alone the result
        is NaN.
    Options: `keepdims` leaves the reduced axes with length 1. With `propagate_nan` a NaN wins. `flush_to_zero` is for
        float32.
    Errors: TileTypeError for an axis that is out of range, named twice or no constant, and for restricted floats.

    Example:
        m = ct.arange(8, dtype=ct.int32).reshape((2, 4))
        print(ct.min(m, axis=1), ct.min(m, axis=-1, keepdims=True).shape)   # [0, 4] (2, 1)
    """


@builtin("argmax")
def argmax(
    x: Any, /, axis: int | None = None, *, keepdims: bool = False, propagate_nan: bool = False,
) -> Tile:
    """The position of the maximum.

    Arguments: `axis`, a constant int, or None for the position in the flattened tile.
    Result: int32 positions; the reduced axis disappears. Of equal elements the first counts. A NaN is the worst value.
    Options: `keepdims` leaves the axis with length 1. With `propagate_nan` a NaN is the best value.
    Errors: TileTypeError for a tuple of axes, an axis out of range or no constant, and for restricted floats.

    Example:
        m = ct.arange(8, dtype=ct.int32).reshape((2, 4)) % 3
        print(m)                                                  # [[0, 1, 2, 0], [1, 2, 0, 1]]
        print(ct.argmax(m, axis=1), ct.argmax(m))                 # [2, 1] 2
        ct.argmax(m, axis=(0, 1))                                 # TileTypeError
    """


@builtin("argmin")
def argmin(
    x: Any, /, axis: int | None = None, *, keepdims: bool = False, propagate_nan: bool = False,
) -> Tile:
    """The position of the minimum.

    Arguments: `axis`, a constant int, or None for the position in the flattened tile.
    Result: int32 positions; the reduced axis disappears. Of equal elements the first counts. A NaN is the worst value.
    Options: `keepdims` leaves the axis with length 1. With `propagate_nan` a NaN is the best value.
    Errors: TileTypeError for a tuple of axes, an axis out of range or no constant, and for restricted floats.

    Example:
        m = ct.arange(8, dtype=ct.int32).reshape((2, 4)) % 3
        print(m)                                                  # [[0, 1, 2, 0], [1, 2, 0, 1]]
        print(ct.argmin(m, axis=1), ct.argmin(m, axis=0))         # [0, 2] [0, 0, 1, 0]
    """


@builtin("any")
def any(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Tile:
    """Whether some element along axes is not zero.

    Arguments: `x`, a tile of any dtype (a NaN is not zero); `axis`, a constant int, a tuple of them, or None for all
        axes. A tuple of numbers and scalars, as for Python's `any`, is one answer.
    Result: a bool tile; the reduced axes disappear.
    Options: `keepdims` leaves the reduced axes with length 1.
    Errors: TileTypeError for an axis that is out of range, named twice or no constant.

    Example:
        m = ct.arange(8, dtype=ct.int32).reshape((2, 4))
        print(ct.any(m > 5, axis=1), ct.any(m == 9))              # [0, 1] 0
        if ct.any(m > 5):
            print("some")                                         # some
    """


@builtin("all")
def all(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Tile:
    """Whether no element along axes is zero.

    Arguments: `x`, a tile of any dtype (a NaN is not zero); `axis`, a constant int, a tuple of them, or None for all
        axes. A tuple of numbers and scalars, as for Python's `all`, is one answer.
    Result: a bool tile; the reduced axes disappear.
    Options: `keepdims` leaves the reduced axes with length 1.
    Errors: TileTypeError for an axis that is out of range, named twice or no constant.

    Example:
        m = ct.arange(8, dtype=ct.int32).reshape((2, 4))
        print(ct.all(m < 6, axis=0), ct.all(m), all((True, 1 < 2)))   # [1, 1, 0, 0] 0 True
    """
