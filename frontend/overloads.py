"""Operators of frozen dataclasses and named tuples: `x + y` calls `__add__` of x, else `__radd__` of y."""

from __future__ import annotations

import ast
import types

from tilewright.frontend.inline import inline_function
from tilewright.frontend.translator import Translator
from tilewright.frontend.values import Struct, Val

_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Pow: "pow", ast.MatMult: "matmul", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor", ast.LShift: "lshift",
    ast.RShift: "rshift",
}
_UNARY: dict[type[ast.unaryop], str] = {ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert"}
# Each comparison, and the one that says the same with its sides exchanged.
_COMPARE: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Eq: ("eq", "eq"), ast.NotEq: ("ne", "ne"), ast.Lt: ("lt", "gt"), ast.LtE: ("le", "ge"), ast.Gt: ("gt", "lt"),
    ast.GtE: ("ge", "le"),
}


def binary(t: Translator, op: type[ast.operator], x: Val, y: Val) -> tuple[Val] | None:
    """What a method makes of `x op y`; None if neither side has one."""
    if not (isinstance(x, Struct | tuple) or isinstance(y, Struct | tuple)):
        return None
    word = _BINARY[op]
    return _either(t, f"__{word}__", f"__r{word}__", x, y)


def comparison(t: Translator, op: type[ast.cmpop], x: Val, y: Val) -> tuple[Val] | None:
    """What a method makes of a comparison; None if neither side has one."""
    if op not in _COMPARE or not (isinstance(x, Struct | tuple) or isinstance(y, Struct | tuple)):
        return None
    word, exchanged = _COMPARE[op]
    return _either(t, f"__{word}__", f"__{exchanged}__", x, y)


def unary(t: Translator, op: type[ast.unaryop], x: Val) -> tuple[Val] | None:
    """What a method makes of `op x`; None if there is none."""
    return called(t, f"__{_UNARY[op]}__", x) if op in _UNARY else None


def called(t: Translator, name: str, x: Val, *args: Val) -> tuple[Val] | None:
    """The result of a method that the user wrote for objects of such a class; None if there is none."""
    kind = x.type if isinstance(x, Struct) else type(x) if isinstance(x, tuple) else None
    method = getattr(kind, name, None)
    if not isinstance(method, types.FunctionType) or method.__code__.co_filename == "<string>":  # dataclass made it
        return None
    return (inline_function(t, method, [x, *args], {}),)


def _either(t: Translator, name: str, reflected: str, x: Val, y: Val) -> tuple[Val] | None:
    return called(t, name, x, y) or called(t, reflected, y, x)
