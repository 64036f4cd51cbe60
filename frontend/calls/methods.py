"""Methods of lists and dicts, and the functions that make them. What changes one gives a `Changed`."""

from __future__ import annotations

from tilewright.frontend.calls.builtins import items_of, tuple_index
from tilewright.frontend.calls.options import bad
from tilewright.frontend.calls.registry import call_rule
from tilewright.frontend.subscripts import key_of, position
from tilewright.frontend.translator import Translator
from tilewright.frontend.values import Changed, Keywords, ListOf, Live, Val, known, live, named
from tilewright.tileir.diagnostics import TileTypeError, TileValueError

_NO_DEFAULT = object()


@call_rule("builtin list", list)
def list_(t: Translator, x: Val = (), /) -> Val:
    return ListOf(items_of("list", "x", 0, x))


@call_rule("builtin dict", dict)
def dict_(t: Translator, x: Val = (), /, **items: Val) -> Val:
    if isinstance(x, Keywords):
        return Keywords({**x.items, **items})
    pairs = items_of("dict", "x", 0, x)
    if any(not isinstance(pair, tuple) or len(pair) != 2 for pair in pairs):
        raise bad("dict", "x", f"must be a dict or pairs of key and value, got {named(x)}")
    return Keywords({**{key_of(key): value for key, value in pairs}, **items})


@call_rule("list.append")
def append(t: Translator, x: Val, item: Val, /) -> Val:
    return Changed(ListOf((*x, item), x.made))


@call_rule("list.extend")
def extend(t: Translator, x: Val, items: Val, /) -> Val:
    return Changed(ListOf((*x, *items_of("extend", "items", 0, items)), x.made))


@call_rule("list.insert")
def insert(t: Translator, x: Val, index: Val, item: Val, /) -> Val:
    place = known(index)
    if type(place) is not int:
        raise bad("insert", "index", f"must be a constant integer, got {named(index)}")
    items = list(x)
    items.insert(place, item)
    return Changed(ListOf(items, x.made))


@call_rule("list.pop")
def pop(t: Translator, x: Val, index: Val = -1, /) -> Val:
    i = position(x, index)
    return Changed(ListOf((*x[:i], *x[i + 1:]), x.made), x[i])


@call_rule("list.remove")
def remove(t: Translator, x: Val, value: Val, /) -> Val:
    i = tuple_index(t, x, value)
    return Changed(ListOf((*x[:i], *x[i + 1:]), x.made))


@call_rule("list.reverse")
def reverse(t: Translator, x: Val, /) -> Val:
    return Changed(ListOf(x[::-1], x.made))


@call_rule("list.clear")
def clear(t: Translator, x: Val, /) -> Val:
    return Changed(ListOf((), x.made))


@call_rule("list.copy")
def copy(t: Translator, x: Val, /) -> Val:
    return ListOf(x)


@call_rule("dict.get")
def get(t: Translator, x: Val, key: Val, default: Val = None, /) -> Val:
    return x.items.get(key_of(key), default)


@call_rule("dict.keys")
def keys(t: Translator, x: Val, /) -> Val:
    return Live(x.items, x.made, keys=True)


@call_rule("dict.values")
def values(t: Translator, x: Val, /) -> Val:
    return Live(x.items.values(), x.made)


@call_rule("dict.items")
def items(t: Translator, x: Val, /) -> Val:
    return Live(x.items.items(), x.made)


@call_rule("dict.copy")
def copy_of_dict(t: Translator, x: Val, /) -> Val:
    return Keywords(x.items)


@call_rule("dict.update")
def update(t: Translator, x: Val, other: Val = (), /, **more: Val) -> Val:
    return Changed(Keywords({**x.items, **dict_(t, other).items, **more}, x.made))


@call_rule("dict.setdefault")
def setdefault(t: Translator, x: Val, key: Val, default: Val = None, /) -> Val:
    name = key_of(key)
    filled = {**x.items, name: x.items.get(name, default)}
    return Changed(Keywords(filled, x.made), filled[name])


@call_rule("dict.pop")
def pop_key(t: Translator, x: Val, key: Val, default: Val = _NO_DEFAULT, /) -> Val:
    name = key_of(key)
    if name not in x.items and default is _NO_DEFAULT:
        raise bad("pop", "key", f"is {name!r}, which is not in the dict", TileValueError)
    return Changed(Keywords({k: v for k, v in x.items.items() if k != name}, x.made), x.items.get(name, default))


@call_rule("builtin map", map)
def map_(t: Translator, function: Val, /, *iterables: Val) -> Val:
    from tilewright.frontend.calls.call import call_value

    if not iterables:
        raise TileTypeError("map: takes a function and what it goes over", hints=["write map(f, items)"])
    found = [items_of("map", "iterables", i, iterable) for i, iterable in enumerate(iterables)]
    return live((call_value(t, function, each, {}) for each in zip(*found, strict=False)), *found)
