"""Expressions of integers as text, in annotations and grids: "K", "2 * N", "cdiv(M, TM)"."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any


def _cdiv(a: int, b: int) -> int:
    return -(-a // b)


_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_FUNCTIONS: dict[str, Callable[..., int]] = {"cdiv": _cdiv, "min": min, "max": max}


class Expression:
    """One expression; `names` are those that it needs, `name` the one that it is, if it is nothing else."""

    def __init__(self, node: ast.expr) -> None:
        self._node = node
        self.text = ast.unparse(node)
        self.name = node.id if isinstance(node, ast.Name) else None
        functions = {id(n.func) for n in ast.walk(node) if isinstance(n, ast.Call)}
        self.names = frozenset(n.id for n in ast.walk(node) if isinstance(n, ast.Name) and id(n) not in functions)
        _check(node)

    def value(self, names: Mapping[str, int]) -> int:
        """What it is for these names. KeyError for one that is missing, ZeroDivisionError."""
        return _value(self._node, names)


def parse_all(text: str, what: str) -> list[Expression]:
    """The expressions between commas. ValueError, which begins with `what`, for other text."""
    try:
        body = ast.parse(text.strip(), mode="eval").body
        return [Expression(node) for node in (body.elts if isinstance(body, ast.Tuple) else [body])]
    except (SyntaxError, ValueError):
        raise ValueError(f"{what}: {text!r} is no expression of names and ints; it may use + - * // % and cdiv(a, b), "
                         "min, max") from None


def _check(node: ast.expr) -> None:
    match node:
        case ast.Name():
            return
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            return
        case ast.BinOp(op=op) if type(op) in _OPERATORS:
            parts = [node.left, node.right]
        case ast.UnaryOp(op=ast.USub()):
            parts = [node.operand]
        case ast.Call(func=ast.Name(id=name), keywords=[]) if name in _FUNCTIONS and len(node.args) > 1:
            parts = node.args
            if name == "cdiv" and len(parts) != 2:
                raise ValueError("cdiv takes two")
        case _:
            raise ValueError(ast.unparse(node))
    for part in parts:
        _check(part)


def _value(node: Any, names: Mapping[str, int]) -> int:
    if isinstance(node, ast.Name):
        return names[node.id]
    if isinstance(node, ast.Constant):
        return int(node.value)  # type: ignore[arg-type]
    if isinstance(node, ast.BinOp):
        return _OPERATORS[type(node.op)](_value(node.left, names), _value(node.right, names))
    if isinstance(node, ast.UnaryOp):
        return -_value(node.operand, names)
    return _FUNCTIONS[node.func.id](*[_value(part, names) for part in node.args])
