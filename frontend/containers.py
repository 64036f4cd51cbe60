"""Lists and dicts that change: `x[i] = v`, `x.append(v)` and their kind bind a name anew.

A list of the frontend is a value like a tuple, so that loops and branches carry and merge it as they do tuples. To make
this what Python does, one name alone may stand for a list that changes: another would not see the change.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from tilewright.frontend.calls.call import SYNTHETIC
from tilewright.frontend.names import usable
from tilewright.frontend.scopes import RETURN_VALUE, Conflict, MaybeUnbound, Scope
from tilewright.frontend.structure import parts
from tilewright.frontend.subscripts import evaluate_index, item, key_of, position
from tilewright.frontend.translator import Translator
from tilewright.frontend.values import OUTSIDE, Changed, Keywords, ListOf, Val, like
from tilewright.tileir.diagnostics import TileSyntaxError, TileTypeError

Change = Callable[[Val], Val]


def changed(t: Translator, function: ast.expr, value: Changed) -> Val:
    """The result of a method that changes what stands before its dot."""
    if not isinstance(function, ast.Attribute):
        raise TileSyntaxError("what changes a list or dict is called with its name: x.append(v)")
    change(t, function.value, lambda old: value.container)
    return value.result


def set_item(t: Translator, target: ast.Subscript, value: Val) -> None:
    """`x[i] = value` of a list or dict."""
    index = evaluate_index(t, target.slice)
    change(t, target.value, lambda old: _with_item(old, index, value))


def change(t: Translator, node: ast.expr, new: Change) -> None:
    """Bind the name that stands for a list or dict, or for what holds it, to what `new` makes of it."""
    path = []
    inner = node
    while isinstance(inner, ast.Subscript):
        path.append(evaluate_index(t, inner.slice))
        inner = inner.value
    name = inner.id if isinstance(inner, ast.Name) else ""
    binding = t.scope.vars.get(name)
    if binding is None:
        raise TileTypeError("a list or dict can change where a variable of the same function stands for it",
                            hints=["make a new one, and return or assign it: x + [v]"])
    root = usable(t.scope, name, binding)
    _check_alone(t, name, _followed(t, root, path[::-1]))
    t.scope.bind(name, _replaced(t, root, path[::-1], new), inner)


def _followed(t: Translator, value: Val, path: list[Val]) -> Val:
    for index in path:
        value = item(t, value, index)
    return value


def _replaced(t: Translator, value: Val, path: list[Val], new: Change) -> Val:
    if not path:
        return new(value)
    return _with_item(value, path[0], _replaced(t, item(t, value, path[0]), path[1:], new))


def _with_item(container: Val, index: Val, value: Val) -> Val:
    """A container with another item at an index."""
    if isinstance(container, Keywords):
        return Keywords({**container.items, key_of(index): value}, container.made)
    i = position(container, index)
    return like(container, (value if k == i else v for k, v in enumerate(container)))


def _check_alone(t: Translator, name: str, container: Val) -> None:
    """TileTypeError where another name, or another place in a list, stands for a list that changes, too."""
    word = "list" if isinstance(container, ListOf) else "dict"
    if OUTSIDE in container.made:
        raise TileTypeError(f"the {word} comes from outside this function, so it cannot be changed here",
                            hints=["make a new one, and return it: x + [v], or change a copy: x = list(x)"
                                   if word == "list" else "change a copy: x = dict(x)"])
    found: list[str] = []
    scope: Scope | None = t.scope
    while scope is not None:
        for other, binding in scope.vars.items():
            if other != RETURN_VALUE and not isinstance(binding.value, (Conflict, MaybeUnbound)):
                found += [other] * _times(binding.value, container.made)
        scope = scope.outer
    if len(found) > 1:
        others = [other for other in found if other != name]
        where = f"{others[0]} stands for it, too" if others else f"it stands in {name} more than once"
        raise TileTypeError(f"this {word} cannot be changed: {where}, and would have to change with it",
                            hints=[f"copy it where it gets its second place: {word}(x)"])


def _times(value: Val, made: frozenset[int]) -> int:
    """How often a list or dict stands in a value."""
    if isinstance(value, (ListOf, Keywords)) and value.made & made:
        return 1
    return sum(_times(p, made) for p in parts(value))


SYNTHETIC["changed"] = changed
