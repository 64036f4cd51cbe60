"""Lists and dicts that change: `x[i] = v`, `x.append(v)` and their kind bind a name anew.

A list of the frontend is a value like a tuple, so that loops and branches carry and merge it as they do tuples. To make
this what Python does, one name alone may stand for a list that changes: another would not see the change.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence

from tilewright.frontend.calls.call import SYNTHETIC
from tilewright.frontend.flow import root_name
from tilewright.frontend.names import usable
from tilewright.frontend.scopes import RETURN_VALUE, Conflict, MaybeUnbound, Scope
from tilewright.frontend.structure import parts
from tilewright.frontend.subscripts import evaluate_index, item, key_of, position
from tilewright.frontend.translator import Translator
from tilewright.frontend.values import OUTSIDE, Changed, Keywords, ListOf, Val, like
from tilewright.tileir.diagnostics import TileSyntaxError, TileTypeError

Change = Callable[[Val], Val]


def changed(t: Translator, call: ast.Call, value: Changed) -> Val:
    """The result of a method that changes what stands before its dot."""
    function = call.func
    if not isinstance(function, ast.Attribute):
        raise TileSyntaxError("what changes a list or dict is called with its name: x.append(v)")
    _check_order(t, call, root_name(function.value), function.attr)
    change(t, function.value, lambda old: value.container)
    return value.result


def set_item(t: Translator, target: ast.Subscript, value: Val) -> None:
    """`x[i] = value` of a list or dict."""
    index = evaluate_index(t, target.slice)
    change(t, target.value, lambda old: _with_item(old, index, value), index)


def _check_order(t: Translator, call: ast.Call, name: str, method: str) -> None:
    """TileSyntaxError where other parts of the statement may see the list, or only the run knows whether it changes:
    their values are taken before a change, whatever stands first."""
    node = t.present
    fields = () if isinstance(node, ast.While) else ("value", "test", "iter")  # a while asks again and again
    parts: list[ast.AST | None] = [getattr(node, field, None) for field in fields]
    if isinstance(node, ast.AugAssign):
        parts.append(node.target)
    present = [part for part in parts if part is not None]
    reads = sum(isinstance(n, ast.Name) and n.id == name for part in present for n in ast.walk(part))
    if reads != 1 or not any(_always(part, call) for part in present[:1]):
        raise TileSyntaxError(f"{method} changes {name or 'a list'} in the middle of a statement",
                              hints=["call it in a statement of its own, before: v = x.pop()"])


def _always(node: ast.AST, call: ast.Call) -> bool:
    """Whether an expression holds a call where it is made once, in any case."""
    if node is call:
        return True
    inner: Iterable[ast.AST] = ast.iter_child_nodes(node)
    match node:
        case ast.Lambda() | ast.GeneratorExp() | ast.ListComp() | ast.SetComp() | ast.DictComp():
            return False
        case ast.IfExp():
            inner = [node.test]
        case ast.BoolOp():
            inner = node.values[:1]
        case ast.Compare():
            inner = [node.left, node.comparators[0]]
    return any(_always(n, call) for n in inner)


def change(t: Translator, node: ast.expr, new: Change, place: Val = None) -> None:
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
    holders = list(_followed(t, root, path[::-1]))
    _check_alone(t, name, holders[-1])
    _check_not_gone_through(t, holders, place)
    t.scope.bind(name, _replaced(t, root, path[::-1], new), inner)


def _followed(t: Translator, value: Val, path: list[Val]) -> Iterator[Val]:
    """A list or dict, what stands in it, and so on to the one that a path leads to."""
    yield value
    for index in path:
        value = item(t, value, index)
        yield value


def _check_not_gone_through(t: Translator, holders: Sequence[Val], place: Val) -> None:
    """TileTypeError where a loop goes through a list that changes, or that holds it: its items were taken when the loop
    began. An item that the loop has had may change."""
    for through, number in t.gone_through:
        for holder in holders:
            if not isinstance(holder, (ListOf, Keywords)) or not holder.made & through:
                continue
            if holder is holders[-1] and place is not None and _position(holder, place) <= number:
                continue
            word = "list" if isinstance(holder, ListOf) else "dict"
            raise TileTypeError(f"this {word} cannot be changed: a loop goes through it",
                                hints=[f"go through a copy: list({'x' if word == 'list' else 'x.items()'})"])


def _position(container: Val, place: Val) -> int:
    if isinstance(container, Keywords):
        key, keys = key_of(place), list(container.items)
        return keys.index(key) if key in keys else len(keys)
    return position(container, place)


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
