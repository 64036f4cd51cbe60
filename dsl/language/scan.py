"""Running sums, and reductions and scans by a function of the user."""

from __future__ import annotations

from typing import Any

from tilewright.language.builtin import builtin
from tilewright.language.classes import Tile
from tilewright.tileir.enums import RoundingMode

__all__ = [
    "cumsum", "cumprod", "scan", "reduce",
]


@builtin("cumsum")
def cumsum(
    x: Any, /, axis: int = 0, *, reverse: bool = False, rounding_mode: RoundingMode | None = None,
    flush_to_zero: bool = False,
) -> Tile:
    """Running sum along an axis, the element itself included; from the end with `reverse`."""


@builtin("cumprod")
def cumprod(
    x: Any, /, axis: int = 0, *, reverse: bool = False, rounding_mode: RoundingMode | None = None,
    flush_to_zero: bool = False,
) -> Tile:
    """Running product along an axis, the element itself included; from the end with `reverse`."""


@builtin("scan")
def scan(x: Any, /, axis: int, func: Any, identity: Any, *, reverse: bool = False) -> Any:
    """Running combination along an axis by a function of the user.

    `func` takes two scalars (2 N for a tuple of N tiles: first all of one group) and returns one (N); it is associative
    and free of loops, branches and memory access. `identity`: constant scalars.
    """


@builtin("reduce")
def reduce(x: Any, /, axis: int, func: Any, identity: Any, *, keepdims: bool = False) -> Any:
    """Combine along an axis by a function of the user.

    `func` takes two scalars (2 N for a tuple of N tiles: first all of one group) and returns one (N); it is associative
    and free of loops, branches and memory access. `identity`: constant scalars.
    """
