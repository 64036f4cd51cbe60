"""Truth values of conditions."""

from __future__ import annotations

import ast
import enum

from tilewright.frontend.advice import on_number
from tilewright.frontend.promotion import computable, convert
from tilewright.frontend.translator import Translator
from tilewright.frontend.values import Keywords, Text, Val, is_tile, known, named
from tilewright.tileir.core import Value
from tilewright.tileir.diagnostics import TileSyntaxError, TileTypeError, at
from tilewright.tileir.dtypes import bool_
from tilewright.tileir.ops.arith import Ne


def condition(t: Translator, node: ast.expr, what: str) -> bool | Value:
    """The truth value of an expression that stands as a condition."""
    value = t.expr(node)
    with at(t.span(node)):
        return truth(t, value, what)


def truth(t: Translator, value: Val, what: str) -> bool | Value:
    """A Python bool where the condition is known while compiling, else an i1 scalar."""
    constant = known(value)
    if constant is not None:
        return bool(constant)
    if isinstance(value, (str, tuple, type(None), enum.Enum)):
        return bool(value)
    if isinstance(value, Keywords):
        return bool(value.items)
    if t.combining and is_tile(value):
        raise TileSyntaxError(f"{t.combining}: its function can have no branches", hints=["write ct.where(cond, x, y)"])
    if not is_tile(value):
        raise TileTypeError(f"{what}: expected a condition, got {named(value)}", hints=_hints(value))
    if value.type.shape:
        raise TileTypeError(
            f"{what}: the condition must be a scalar, got {named(value)}",
            hints=_tile_hints(value, what),
        )
    if value.type.dtype is bool_:
        result: Value = value
        return result
    number = computable(t, value)
    zero = t.constant(convert(0, number.type.dtype), number.type.dtype)
    return t.emit(Ne, lhs=number, rhs=zero)


def _hints(value: Val) -> list[str]:
    return ["a formatted string cannot be tested"] if isinstance(value, Text) else on_number(value)


def _tile_hints(value: Value, what: str) -> list[str]:
    if value.type.size == 1:
        return ["take the single element with .item()"]
    if what in ("and", "or"):
        return [f"combine tiles element by element: (a) {'&' if what == 'and' else '|'} (b)"]
    return ["reduce it to one truth value: ct.any(cond), ct.all(cond)",
            "or choose element by element: ct.where(cond, x, y)"]
