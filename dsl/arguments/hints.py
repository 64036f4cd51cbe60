"""The annotations of a kernel's parameters as objects; names that only a type checker imports are no obstacle."""

from __future__ import annotations

import ast
import linecache
import sys
import typing
from collections.abc import Iterator
from contextlib import suppress
from types import FunctionType
from typing import Any


def annotations_of(function: FunctionType) -> dict[str, Any]:
    """`typing.get_type_hints` of a function. Its annotations may name what the functions around it define, as far as
    its own body names it too. Names imported under `if TYPE_CHECKING:` are what their module holds if it is loaded,
    else an unknown type, which asks nothing of an argument.

    Raises NameError, with the place, for a name that there is not.
    """
    try:
        return typing.get_type_hints(function, include_extras=True)
    except NameError as error:
        first = error
    names = {**function.__globals__, **dict(_checked_imports(function)), **dict(_captured(function))}
    try:
        return typing.get_type_hints(function, names, include_extras=True)
    except NameError:
        code = function.__code__
        raise NameError(
            f"{code.co_filename}:{code.co_firstlineno}: an annotation of {function.__name__} says {first.name!r}, "
            "which is not defined there; import it, or leave the annotation out", name=first.name) from None


def _captured(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """The names of the functions around one that it captures; annotations that are text capture nothing themselves."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # a name without a value yet
            yield name, cell.cell_contents


class _Unknown(type):
    """Type of a type that is not known: whatever it is asked for, the answer is not known either."""

    def __getattr__(cls, name: str) -> _Unknown:
        if name.startswith("__"):
            raise AttributeError(name)
        return cls

    def __getitem__(cls, item: Any) -> _Unknown:
        return cls

    def __or__(cls, other: Any) -> _Unknown:
        return cls

    __ror__ = __or__


class UnknownType(metaclass=_Unknown):
    """What an annotation names that only a type checker imports."""


def _checked_imports(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """The names that a function's file imports under `if TYPE_CHECKING:`."""
    lines = linecache.getlines(function.__code__.co_filename, function.__globals__)
    for node in ast.walk(ast.parse("".join(lines))):
        if isinstance(node, ast.If) and _is_type_checking(node.test):
            for statement in node.body:
                yield from _imported(statement)


def _is_type_checking(test: ast.expr) -> bool:
    name = test.id if isinstance(test, ast.Name) else test.attr if isinstance(test, ast.Attribute) else ""
    return name == "TYPE_CHECKING"


def _imported(statement: ast.stmt) -> Iterator[tuple[str, Any]]:
    if isinstance(statement, ast.Import):
        for alias in statement.names:
            name = alias.name if alias.asname else alias.name.partition(".")[0]
            yield alias.asname or name, sys.modules.get(name, UnknownType)
    elif isinstance(statement, ast.ImportFrom):
        module = None if statement.level else sys.modules.get(statement.module or "")
        for alias in statement.names:
            yield alias.asname or alias.name, getattr(module, alias.name, UnknownType)
