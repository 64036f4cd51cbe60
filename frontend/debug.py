"""Marks for a debugger: where statements begin, and what the user's names stand for there."""

from __future__ import annotations

import ast
import math

from tilewright.frontend.calls.registry import call_rule
from tilewright.frontend.scopes import Binding, Conflict, MaybeUnbound
from tilewright.frontend.translator import Translator
from tilewright.frontend.values import Keywords, ListOf, Struct, Val
from tilewright.tileir.core import Value
from tilewright.tileir.ops.debug import HOLE, Breakpoint


@call_rule("builtin breakpoint", breakpoint)
def breakpoint_(t: Translator) -> None:
    mark(t, t.node, stops=True)


def mark(t: Translator, node: ast.AST, *, stops: bool = False) -> None:
    """Mark the place of `node` with all names that have a value there."""
    if t.combining:  # the function of a reduction runs as a whole
        return
    bindings: list[str] = []
    values: list[Value] = []
    for name, binding in t.scope.vars.items():
        text = _text(binding.value, values) if _shown(name, binding) else ""
        if text:
            bindings.append(f"{name}={text}")
    outer, t.node = t.node, node
    t.emit_op(Breakpoint, values=tuple(values), bindings=tuple(bindings), stops=stops)
    t.node = outer


def _shown(name: str, binding: Binding) -> bool:
    return name.isidentifier() and name != "return" and not isinstance(binding.value, (Conflict, MaybeUnbound))


def _text(value: Val, values: list[Value]) -> str:
    """A value as Python writes it, its run-time parts appended to `values`; "" for what is not data."""
    if isinstance(value, Value):
        values.append(value)
        return HOLE
    if value is None or isinstance(value, (bool, int, str)):
        return repr(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else f"float({str(value)!r})"
    if isinstance(value, tuple):
        inside = "".join(f"{_text(item, values) or '...'}, " for item in value)
        return f"[{inside}]" if isinstance(value, ListOf) else f"({inside})"
    if isinstance(value, Keywords):
        return "{" + "".join(f"{key!r}: {_text(item, values) or '...'}, " for key, item in value.items.items()) + "}"
    if isinstance(value, Struct):
        fields = (f"{name}={_text(item, values) or '...'}" for name, item in value.fields.items())
        return f"{value.type.__name__}({', '.join(fields)})"
    return ""
