"""`==`, `is` and `in` on everything that can be compared."""

from __future__ import annotations

import dataclasses
import enum
import types
from typing import Any

from tilewright.frontend import advice
from tilewright.frontend.branches import short_circuit
from tilewright.frontend.calls import arith, math
from tilewright.frontend.promotion import of_operand
from tilewright.frontend.subscripts import key_of
from tilewright.frontend.translator import Translator
from tilewright.frontend.values import Keywords, ListOf, Range, Struct, Text, Val, is_loose, is_tile, known, named
from tilewright.tileir.diagnostics import TileTypeError
from tilewright.tileir.dtypes import DType

_SINGLE = (DType, enum.Enum, type, type(None), types.FunctionType)  # there is one of each, so that `is` has a meaning
_NAMES = (str, *_SINGLE)


def equals(t: Translator, x: Val, y: Val, negate: bool = False) -> Val:
    """`x == y` (`x != y`)."""
    symbol = "!=" if negate else "=="
    if (is_tile(x) or is_loose(x)) and (is_tile(y) or is_loose(y)):
        return arith.binary(t, "not_equal" if negate else "equal", x, y, symbol)
    if isinstance(x, ListOf) is not isinstance(y, ListOf) and isinstance(x, tuple) and isinstance(y, tuple):
        return negate
    if isinstance(x, tuple) and isinstance(y, tuple):
        same = _equal_tuples(t, x, y)
        return math.logical_not(t, same) if negate else same
    if isinstance(x, Struct) and isinstance(y, Struct) and x.type is y.type and _by_fields(x.type):
        return equals(t, _compared(x), _compared(y), negate)
    known = (*_NAMES, bool, int, float)
    if (isinstance(x, _NAMES) and isinstance(y, known)) or (isinstance(y, _NAMES) and is_loose(x)):
        return (x == y) is not negate
    for value in (x, y):
        if isinstance(value, Text):
            raise TileTypeError(f"{symbol}: a string made from run-time values cannot be compared")
    raise TileTypeError(f"{symbol}: {named(x)} and {named(y)} cannot be compared", hints=_hints(x, y, negate))


def _by_fields(kind: Any) -> bool:
    return bool(kind.__dataclass_params__.eq)


def _compared(value: Struct) -> tuple[Val, ...]:
    fields: Any = value.type
    return tuple(value.fields[f.name] for f in dataclasses.fields(fields) if f.compare)


def _hints(x: Val, y: Val, negate: bool) -> list[str]:
    if x is None or y is None:
        return ["write x is not None" if negate else "write x is None"]
    if isinstance(x, Struct) and isinstance(y, Struct):
        return ["compare their fields one by one"]
    return advice.on_number(x) or advice.on_number(y)


def _equal_tuples(t: Translator, x: tuple[Val, ...], y: tuple[Val, ...]) -> Val:
    if len(x) != len(y):
        return False
    result: Val = True
    for a, b in zip(x, y, strict=True):
        result = short_circuit(t, result, lambda a=a, b=b: equals(t, a, b), is_and=True, what="==")  # type: ignore[misc]
    return result


def identical(x: Val, y: Val) -> bool:
    """`x is y`, where one side is None, a dtype, a type, a function or a member of an enum, or both are bools."""
    flags = isinstance(x, bool) and isinstance(y, bool)
    if flags or isinstance(x, _SINGLE) or isinstance(y, _SINGLE):
        return x is y
    raise TileTypeError("is: only None, dtypes, functions and members of enums have an identity in a kernel",
                        hints=["write x == y"])


def contains(t: Translator, x: Val, container: Val) -> Val:
    """`x in container`."""
    if isinstance(container, Keywords):
        return key_of(x) in container.items
    if isinstance(container, str) and isinstance(x, str):
        return x in container
    if isinstance(container, enum.Flag) and isinstance(x, type(container)):
        return x in container
    if isinstance(container, Range) and container.numbers is not None:
        if isinstance(known(x), int):
            return known(x) in container.numbers
        container = container.items("in")
    if not isinstance(container, tuple):
        error = TileTypeError(f"in: expected a tuple, list or dict on the right, got {named(container)}",
                              hints=["write x == y"] if is_loose(container) else [])
        raise of_operand("y", error)
    result: Val = False
    for item in container:
        result = short_circuit(t, result, lambda item=item: equals(t, x, item), is_and=False, what="in")  # type: ignore[misc]
    return result
