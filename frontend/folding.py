"""Operations on constants, with Python's semantics and the language's errors."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from tilewright.tileir.diagnostics import TileTypeError, TileValueError

Number = bool | int | float
_MOST_BITS = 8192  # no kernel needs a longer intermediate integer; longer ones only hang the compiler


def run(what: str, function: Callable[..., Any], *args: Number) -> Number:
    """`function(*args)`; a Python error becomes the user's."""
    try:
        value = function(*args)
    except (ZeroDivisionError, OverflowError, ValueError) as error:
        # An OverflowError of C's library carries its number and its words.
        reason = "the result is too large" if error.args[:1] == (34,) else error
        constants = "the constant" if len(args) == 1 else "the constants"
        raise TileValueError(f"{what}: {reason} (computing with {constants} {_list(args)})") from None
    except TypeError as error:
        raise TileTypeError(f"{what}: {error}") from None
    if isinstance(value, complex):
        raise TileValueError(f"{what}: the result for {_list(args)} is a complex number")
    return value  # type: ignore[no-any-return]


def _list(args: tuple[Number, ...]) -> str:
    return " and ".join(map(str, args))


def power(x: Number, y: Number) -> Any:
    if isinstance(x, int) and isinstance(y, int) and y > 0 and x.bit_length() * y > _MOST_BITS:
        raise OverflowError("the power is too large")
    return x**y


def shift_left(x: int, y: int) -> int:
    if y > _MOST_BITS:
        raise OverflowError("the shift count is too large")
    return x << y


def ceil_div(x: Number, y: Number) -> Number:
    return -(-x // y)


def minimum(x: Number, y: Number) -> Number:
    if _nan(x) or _nan(y):
        return y if _nan(x) else x
    return min(x, y)


def maximum(x: Number, y: Number) -> Number:
    if _nan(x) or _nan(y):
        return y if _nan(x) else x
    return max(x, y)


def _nan(x: Number) -> bool:
    return isinstance(x, float) and math.isnan(x)


def plain(value: Any) -> Any:
    """An enum member or bool-like number as the plain number that it is."""
    if isinstance(value, bool) or type(value) in (int, float):
        return value
    return operator.index(value) if isinstance(value, int) else float(value)
