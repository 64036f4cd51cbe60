"""Reductions along axes."""

from __future__ import annotations

from typing import Any

from tilewright.language.builtin import builtin
from tilewright.language.classes import Tile
from tilewright.tileir.enums import RoundingMode

__all__ = [
    "sum", "prod", "max", "min", "argmax", "argmin",
]


@builtin("sum")
def sum(
    x: Any, /, axis: Any = None, *, keepdims: bool = False,
    rounding_mode: RoundingMode | None = None, flush_to_zero: bool = False,
) -> Tile:
    """Sum along axes.

    `axis`: a constant int, a tuple of them, or None for all. The dtype stays (bools become int32); reduced axes
    disappear, or have length 1 with `keepdims`. The order of combination is unspecified.

        mean = ct.sum(t, 1, keepdims=True) / n
    """


@builtin("prod")
def prod(
    x: Any, /, axis: Any = None, *, keepdims: bool = False,
    rounding_mode: RoundingMode | None = None, flush_to_zero: bool = False,
) -> Tile:
    """Product along axes.

    `axis`: a constant int, a tuple of them, or None for all. The dtype stays (bools become int32); reduced axes
    disappear, or have length 1 with `keepdims`. The order of combination is unspecified.
    """


@builtin("max")
def max(
    x: Any, /, axis: Any = None, *, keepdims: bool = False, flush_to_zero: bool = False,
    propagate_nan: bool = False,
) -> Tile:
    """Maximum along axes.

    `axis`: a constant int, a tuple of them, or None for all. The dtype stays (bools become int32); reduced axes
    disappear, or have length 1 with `keepdims`. The order of combination is unspecified.
    NaNs are skipped unless `propagate_nan`.
    """


@builtin("min")
def min(
    x: Any, /, axis: Any = None, *, keepdims: bool = False, flush_to_zero: bool = False,
    propagate_nan: bool = False,
) -> Tile:
    """Minimum along axes.

    `axis`: a constant int, a tuple of them, or None for all. The dtype stays (bools become int32); reduced axes
    disappear, or have length 1 with `keepdims`. The order of combination is unspecified.
    NaNs are skipped unless `propagate_nan`.
    """


@builtin("argmax")
def argmax(
    x: Any, /, axis: int | None = None, *, keepdims: bool = False, propagate_nan: bool = False,
) -> Tile:
    """Position (int32) of the maximum.

    `axis`: a constant int, or None for the position in the flattened tile. Ties: the first. A NaN is the worst value,
    with `propagate_nan` the best.
    """


@builtin("argmin")
def argmin(
    x: Any, /, axis: int | None = None, *, keepdims: bool = False, propagate_nan: bool = False,
) -> Tile:
    """Position (int32) of the minimum.

    `axis`: a constant int, or None for the position in the flattened tile. Ties: the first. A NaN is the worst value,
    with `propagate_nan` the best.
    """
