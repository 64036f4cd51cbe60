"""Lists and dicts that change: `x[i] = v`, `x.append(v)` and their kind bind a name anew.

A list of the frontend is a value like a tuple, so that loops and branches carry and merge it as they do tuples. To make
this what Python does, one name alone may stand for a list that changes: another would not see the change.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Callable, Iterator

from tilewright.frontend.aliases import check_alone
from tilewright.frontend.calls.builtins import items_of
from tilewright.frontend.calls.call import SYNTHETIC
from tilewright.frontend.names import usable
from tilewright.frontend.scopes import Binding
from tilewright.frontend.subscripts import constant_slice, evaluate_index, item, key_of, position
from tilewright.frontend.translator import Translator
from tilewright.frontend.values import Changed, Keywords, Val, like
from tilewright.tileir.diagnostics import TileSyntaxError, TileTypeError, TileValueError

Change = Callable[[Val], Val]


def changed(t: Translator, function: ast.expr, value: Changed) -> Val:
    """The result of a method that changes what stands before its dot."""
    if not isinstance(function, ast.Attribute):
        raise TileSyntaxError("what changes a list or dict is called with its name: x.append(v)")
    if t.block is not t.statement_block:
        raise TileSyntaxError("a list or dict cannot be changed where only the run knows whether it is reached",
                              hints=["change it in a statement of its own, under an if"])
    change(t, function.value, lambda old: value.container)
    return value.result


def set_item(t: Translator, target: ast.Subscript, value: Val) -> None:
    """`x[i] = value` of a list or dict, and `x[i:j] = values` of a list."""
    index = evaluate_index(t, target.slice)
    if isinstance(index, slice):
        value = items_of("=", "value", 0, value)
    change(t, target.value, lambda old: _with_item(old, index, value), lambda old: _place(old, index))


def delete_item(t: Translator, target: ast.Subscript) -> None:
    """`del x[i]` of a list or dict."""
    index = evaluate_index(t, target.slice)

    def without(old: Val) -> Val:
        if isinstance(old, Keywords):
            item(t, old, index)  # TileTypeError where there is no such key
            return Keywords({k: v for k, v in old.items.items() if k != key_of(index)}, old.made)
        items = list(old)
        del items[constant_slice(old, index) if isinstance(index, slice) else position(old, index)]
        return like(old, items)

    change(t, target.value, without)


@contextlib.contextmanager
def evaluated_once(t: Translator, target: ast.Subscript) -> Iterator[ast.Subscript]:
    """The target of an assignment, in which hidden names stand for indices that hold calls: these are made once."""
    hidden: list[str] = []

    def index(node: ast.expr) -> ast.expr:
        if not any(isinstance(n, (ast.Call, ast.NamedExpr)) for n in ast.walk(node)):
            return node
        hidden.append(f"index {len(t.scope.vars)}")  # no name of the user's
        t.scope.vars[hidden[-1]] = Binding(evaluate_index(t, node), node)
        return ast.copy_location(ast.Name(hidden[-1], ast.Load()), node)

    def plain(node: ast.expr) -> ast.expr:
        if not isinstance(node, ast.Subscript):
            return node
        value = plain(node.value)
        return ast.copy_location(ast.Subscript(value, index(node.slice), node.ctx), node)

    try:
        if isinstance(made := plain(target), ast.Subscript):
            yield made
    finally:
        for name in hidden:
            t.scope.vars.pop(name, None)  # an index that is refused has bound none


def _place(container: Val, index: Val) -> int | None:
    """Where the item of an index stands; None where there is none yet, or several change."""
    if isinstance(index, slice):
        return None
    if isinstance(container, Keywords):
        keys = list(container.items)
        return keys.index(key_of(index)) if key_of(index) in container.items else None
    return position(container, index)


def change(
    t: Translator, node: ast.expr, new: Change, place: Callable[[Val], int | None] = lambda old: None
) -> None:
    """Bind the name that stands for a list or dict, or for what holds it, to what `new` makes of it.

    `place` says which item changes, where it is one alone.
    """
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
    old = _followed(t, root, path[::-1])
    check_alone(t, name, old, place(old))
    t.changes.append(old.made)
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
    if isinstance(index, slice):
        items, places = list(container), constant_slice(container, index)
        taken = len(items[places])
        if places.step not in (None, 1) and taken != len(value):
            raise TileValueError(f"a slice with a step takes a value for each place: {taken}, got {len(value)}")
        items[places] = value
        return like(container, items)
    i = position(container, index)
    return like(container, (value if k == i else v for k, v in enumerate(container)))


SYNTHETIC["changed"] = changed
