"""The source of a kernel that comes from Tile IR: its function, and what that asks of arguments."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tilewright.arguments.annotations import ArrayAnnotation, ListAnnotation, Param, ScalarAnnotation
from tilewright.arguments.bind import Argument
from tilewright.arguments.promised import check_promised
from tilewright.launching.sources import no_statements
from tilewright.tileir.core import Function, Value, clone_function
from tilewright.tileir.diagnostics import TileValueError
from tilewright.tileir.dtypes import int64
from tilewright.tileir.ops.debug import Breakpoint
from tilewright.tileir.plan import NO_ALIASES, Aliases, Hints
from tilewright.tileir.types import ArrayType, ListType, TileType


class IrSource:
    """A kernel that is a Tile IR function. It is specialised already: arguments must fit its parameters' types."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.name = function.name
        names = list(_names(function.params))
        self.params: Sequence[Param] = tuple(_param(name, p) for name, p in zip(names, function.params, strict=True))
        self.parameters: Sequence[inspect.Parameter] = tuple(
            inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names)

    @property
    def namespace(self) -> Mapping[str, Any]:
        return {}

    def check(self, arguments: Sequence[Argument]) -> None:
        for argument, param in zip(arguments, self.function.params, strict=True):
            check_promised(argument, param.type, "the Tile IR")

    def translate(
        self, arguments: Sequence[Argument], *, facts: bool, hints: Hints, aliases: Aliases, debug: bool
    ) -> Function:
        if aliases != NO_ALIASES:
            shared = next(iter((*aliases.same, *aliases.groups)))
            names = " and ".join(repr(self.params[k].name) for k in shared)
            raise TileValueError(f"arguments {names} share memory, and the Tile IR of kernel {self.name} was made for "
                                 "arrays that do not")
        if debug and not any(isinstance(op, Breakpoint) for op in self.function.walk()):
            raise no_statements(self.name)
        made = clone_function(self.function)
        made.hints = hints
        return made


def _names(params: Sequence[Value]) -> Iterator[str]:
    """A name for each parameter, as Python has them."""
    taken: set[str] = set()
    for k, param in enumerate(params):
        name = re.sub(r"\W", "_", param.hint) or f"arg{k}"
        name = name if name.isidentifier() and name not in taken else f"arg{k}"
        taken.add(name)
        yield name


def _param(name: str, value: Value) -> Param:
    type_ = value.type
    if isinstance(type_, ArrayType) and type_.index is int64:
        return Param(name, array=ArrayAnnotation(index_dtype=int64))
    if isinstance(type_, ListType) and type_.element.index is int64:
        return Param(name, list=ListAnnotation(ArrayAnnotation(index_dtype=int64)))
    if isinstance(type_, TileType) and type_.dtype is int64:
        return Param(name, scalar=ScalarAnnotation(int64))
    return Param(name)
