"""What a name means: a variable of this activation, of an enclosing one, a captured global, a builtin."""

from __future__ import annotations

from typing import Any

from tilewright.frontend.hostvalues import frontend_value
from tilewright.frontend.promotion import loose_dtype
from tilewright.frontend.scopes import Binding, Conflict, MaybeUnbound, Scope
from tilewright.frontend.translator import Translator
from tilewright.frontend.values import Closure, Val, describe, is_loose, is_tile, named
from tilewright.tileir.core import Value
from tilewright.tileir.diagnostics import Related, TileError, TileSyntaxError, TileTypeError

_NOTHING: Any = object()


def lookup(t: Translator, name: str) -> Val:
    """The value that a name stands for here."""
    scope: Scope | None = t.scope
    while scope is not None:
        binding = scope.vars.get(name)
        if binding is not None:
            return usable(scope, name, binding)
        inside = scope.outer is not None and scope.outer.source is scope.source  # a comprehension
        if name in scope.source.locals and not inside:
            hints = [f"assign {name} before this line"]
            if name in scope.source.namespace:
                hints = [f"kernels cannot change the global {name}, which this assignment hides; use another name"]
            raise TileSyntaxError(f"{name} is used before it is assigned", hints=hints)
        if scope.outer is None:
            break
        scope = scope.outer
    return captured(t, name)


def captured(t: Translator, name: str) -> Val:
    """A global, closure value or builtin of the present function."""
    value = t.scope.source.captured.get(name, _NOTHING)
    if value is _NOTHING:
        raise TileSyntaxError(f"the name {name} is not defined", hints=_similar(t, name))
    return frontend_value(t, value, name)


def usable(scope: Scope, name: str, binding: Binding) -> Val:
    """A binding's value, or the error of a variable that some way here left undefined or of another type."""
    value = binding.value
    if type(value) is Conflict:
        raise conflict_error(scope, name, value)
    if type(value) is MaybeUnbound:
        raise TileTypeError(
            f"{name} may be undefined here: only some ways to this line assign it",
            related=[Related(scope.span(value.node), f"{name} is assigned here")],
            hints=[f"assign {name} before the branch or loop"],
        )
    return value


def conflict_error(scope: Scope, name: str, value: Conflict) -> TileError:
    """The error for a variable to which two branches gave values that do not merge."""
    first, second = scope.span(value.first_node), scope.span(value.second_node)
    return TileTypeError(
        f"{name} is {named(value.first)} after line {first.line} and {named(value.second)} after line {second.line}",
        related=[Related(first, describe(value.first)), Related(second, describe(value.second))],
        hints=[_conflict_hint(value.first, value.second)],
    )


def _conflict_hint(first: Val, second: Val) -> str:
    if isinstance(first, Closure) and isinstance(second, Closure):
        return "call each in its branch, and keep the result; or make the condition a constant"
    if is_loose(first) and is_loose(second):
        return f"give both one type: ct.{loose_dtype(max(first, second, key=abs))}(...)"
    if (is_tile(first) or is_loose(first)) and (is_tile(second) or is_loose(second)):
        return "give it the same type and shape in both branches, for example with ct.astype or ct.full"
    if isinstance(first, Value) or isinstance(second, Value):
        return "use it inside the branches, where its type is known"
    return "what is not a tile or a number must be the same in both branches, or the condition a constant"


def _similar(t: Translator, name: str) -> list[str]:
    import difflib

    names = [*t.scope.vars, *t.scope.source.captured, *t.scope.source.locals]
    close = difflib.get_close_matches(name, names, 1)
    if close:
        return [f"did you mean {close[0]}?"]
    return ["define it above the kernel, or import it at the top of the file"]
