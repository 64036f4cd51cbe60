"""`x[...]`: tuples, lists and dicts by index."""

from __future__ import annotations

import ast

from tilewright.frontend.advice import on_number
from tilewright.frontend.calls.call import call_value
from tilewright.frontend.calls.options import integer_hints
from tilewright.frontend.dispatch import expression
from tilewright.frontend.promotion import typed
from tilewright.frontend.tile_parts import part
from tilewright.frontend.translator import Translator
from tilewright.frontend.values import (
    Keywords,
    ListOf,
    Range,
    Struct,
    Val,
    is_array,
    is_list,
    is_loose,
    is_tile,
    known,
    named,
)
from tilewright.tileir.core import Value
from tilewright.tileir.diagnostics import TileTypeError
from tilewright.tileir.dtypes import int32
from tilewright.tileir.ops.arrays import ListItem


@expression(ast.Subscript)
def subscript(t: Translator, node: ast.Subscript) -> Val:
    value = t.expr(node.value)
    return item(t, value, evaluate_index(t, node.slice))


def evaluate_index(t: Translator, node: ast.expr) -> Val:
    """What stands in the brackets."""
    if isinstance(node, ast.Slice):
        return slice(*(t.expr(part) if part is not None else None for part in (node.lower, node.upper, node.step)))
    if isinstance(node, ast.Tuple) and any(isinstance(e, ast.Slice) for e in node.elts):
        return tuple(evaluate_index(t, e) for e in node.elts)
    return t.expr(node)


def item(t: Translator, value: Val, index: Val) -> Val:
    """`value[index]`."""
    if isinstance(value, (tuple, str)):
        return _from_tuple(value, index)
    if isinstance(value, Keywords):
        return _from_dict(value, key_of(index))
    if isinstance(value, Range) and value.numbers is not None and isinstance(known(index), int):
        return value.numbers[position(value.numbers, index)]
    if is_list(value):
        return _from_list(t, value, index)
    if is_tile(value) or is_loose(value):
        return part(t, typed(t, value), index)
    if isinstance(value, Struct) and hasattr(value.type, "__getitem__"):
        return call_value(t, value.type.__getitem__, [value, index], {})
    hints = on_number(value)
    if isinstance(value, Struct):
        hints = [f"its fields are {', '.join(value.fields)}"]
    if isinstance(value, Range):
        hints = ["a range is for loops: for i in r; its item is start + i * step"]
    if is_array(value):
        hints = [f"load a tile, by one index and one length for each axis: {_load(value.type.rank)}",
                 "or single elements: ct.gather(a, indices)"]
    raise TileTypeError(f"{named(value)} cannot be indexed", hints=hints)


def _from_tuple(value: tuple[Val, ...] | str, index: Val) -> Val:
    if isinstance(index, slice):
        found = value[constant_slice(value, index)]
        return ListOf(found) if isinstance(value, ListOf) else found
    return value[position(value, index)]


def constant_slice(value: tuple[Val, ...] | str, index: slice) -> slice:
    """A slice of a tuple, list or string, whose bounds must be constants."""
    what = _kind(value)
    return slice(*(None if b is None else _constant_index(b, what) for b in (index.start, index.stop, index.step)))


def _kind(value: tuple[Val, ...] | str | range) -> str:
    kinds = (str, "string"), (ListOf, "list"), (range, "range")
    return next((kind for type_, kind in kinds if isinstance(value, type_)), "tuple")


def position(value: tuple[Val, ...] | str | range, index: Val) -> int:
    """The place, counted from 0, that a constant index of a tuple, list or string means."""
    what = _kind(value)
    i = _constant_index(index, what)
    if not -len(value) <= i < len(value):
        last = f"count from 0 to {len(value) - 1}" if value else "it has no items"
        raise TileTypeError(f"index {i} is out of range for a {what} of {len(value)}", hints=[last])
    return i % len(value)


def key_of(index: Val) -> Val:
    """A constant that a dict can have as its key."""
    constant = known(index)
    if constant is not None:
        return constant
    run_time = isinstance(index, Value) or (isinstance(index, tuple) and any(isinstance(v, Value) for v in index))
    if run_time or isinstance(index, (ListOf, Keywords, Struct, Range, slice)):
        raise TileTypeError(f"the key of a dict must be a constant, got {named(index)}",
                            hints=["loop with ct.static_iter(range(n)) for constants"] if run_time else [])
    return index


def _from_dict(value: Keywords, key: Val) -> Val:
    if key not in value.items:
        has = f"it has {', '.join(map(str, value.items))}" if value.items else "it is empty"
        hint = f"{has}; d.get(key, default) gives a default"
        raise TileTypeError(f"there is no key {key!r} in the dict", hints=[hint])
    return value.items[key]


def _constant_index(index: Val, what: str) -> int:
    constant = known(index)
    if isinstance(constant, int):
        return int(constant)
    raise TileTypeError(
        f"the index of a {what} must be a constant integer, got {named(index)}",
        hints=["loop with ct.static_iter(range(n)) to index with constants"] if is_tile(index) else [],
    )


def _from_list(t: Translator, value: Value, index: Val) -> Val:
    scalar = is_tile(index) and not index.type.shape and index.type.dtype.is_int
    if not scalar and not isinstance(index, int):
        hints = ["take one array at a time: xs[i]"] if isinstance(index, slice) else integer_hints(index)
        raise TileTypeError(f"the index of a list must be an integer scalar, got {named(index)}", hints=hints)
    position = known(index)
    if position is not None and position < 0:
        raise TileTypeError(f"index {position} of a list: its arrays are counted from the front",
                            hints=[f"write xs[len(xs) - {-position}]"])
    return t.emit(ListItem, list=value, index=typed(t, index, int32))


def _load(rank: int) -> str:
    index, shape = (", ".join(letters[:rank]) for letters in (_INDICES, _LENGTHS))
    return f"ct.load(a, ({index}), ({shape}))" if 1 < rank <= len(_INDICES) else "ct.load(a, i, n)"


_INDICES, _LENGTHS = "ijkl", "mnpq"
