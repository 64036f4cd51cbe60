"""The variables of one function activation: what each name is bound to, where, and on which ways it is valid.

The values of names are frontend values (`values.py`), of which nothing is asked here.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

from tilewright.frontend.flow import ANY, FALL
from tilewright.frontend.source import FunctionSource, span_of
from tilewright.tileir.core import Value
from tilewright.tileir.diagnostics import Span

# The name under which a function's return value travels through joins.
RETURN_VALUE = "return"


@dataclass(slots=True)
class Binding:
    """A name's value, the node that bound it, and the ways of leaving the code so far for which it holds.

    `constants`: ways on which the value is a constant, where other ways have another one.
    """

    value: Any
    node: ast.AST
    valid: int = ANY
    constants: dict[int, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Conflict:
    """The value of a name to which two ways gave values that cannot be merged."""

    first: Any
    first_node: ast.AST
    second: Any
    second_node: ast.AST


@dataclass(frozen=True, slots=True)
class MaybeUnbound:
    """The value of a name that only some ways assigned."""

    node: ast.AST


@dataclass(slots=True)
class Exit:
    """How control reaches the present place: the ways that are possible, and an i32 that says which, where several.

    The i32 is the bit of the way: FALL, BREAK, CONTINUE or RETURN.
    """

    ways: int = FALL
    code: Value | None = None

    @property
    def falls(self) -> bool:
        """The next statement is certain to run."""
        return self.ways == FALL

    @property
    def leaves(self) -> bool:
        """The next statement is certain not to run."""
        return not self.ways & FALL


class Scope:
    """One activation of a function: a kernel's or an inlined helper's."""

    __slots__ = ("source", "vars", "outer", "call_site", "exit", "depth", "loops", "_spans")

    def __init__(self, source: FunctionSource, outer: Scope | None, call_site: Span | None, depth: int) -> None:
        self.source = source
        self.vars: dict[str, Binding] = {}
        self.outer = outer  # where a closure was defined
        self.call_site = call_site
        self.exit = Exit()
        self.depth = depth
        self.loops: list[str] = []  # kinds of the loops around the present place: "for", "while", "static"
        self._spans: dict[ast.AST, Span] = {}

    def span(self, node: ast.AST) -> Span:
        """The place of a node in this activation."""
        found = self._spans.get(node)
        if found is None:
            found = self._spans[node] = span_of(node, self.source.file, self.source.name, self.call_site)
        return found

    def bind(self, name: str, value: Any, node: ast.AST) -> None:
        if isinstance(value, Value) and not value.hint:
            value.hint = name
        self.vars[name] = Binding(value, node)
