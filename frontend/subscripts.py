"""`x[...]`: tuples and lists by index, tiles by new axes."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from tilewright.frontend.advice import on_number
from tilewright.frontend.calls.call import call_value
from tilewright.frontend.calls.options import integer_hints
from tilewright.frontend.dispatch import expression
from tilewright.frontend.promotion import typed
from tilewright.frontend.translator import Translator
from tilewright.frontend.values import (
    Keywords,
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
from tilewright.tileir.ops.shape import Reshape


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
        if index not in value.items:
            given = f"it was called with {', '.join(value.items)}" if value.items else "it was called without any"
            raise TileTypeError(f"there is no keyword argument {index!r}",
                                hints=[f"{given}; kwargs.get(name, default) gives a default"])
        return value.items[index]
    if is_list(value):
        return _from_list(t, value, index)
    if is_tile(value) or is_loose(value):
        return new_axes(t, typed(t, value), index)
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
    what = "tuple" if isinstance(value, tuple) else "string"
    if isinstance(index, slice):
        bounds = [None if b is None else _constant_index(b, what) for b in (index.start, index.stop, index.step)]
        return value[slice(*bounds)]
    i = _constant_index(index, what)
    if not -len(value) <= i < len(value):
        last = f"count from 0 to {len(value) - 1}" if value else "it has no items"
        raise TileTypeError(f"index {i} is out of range for a {what} of {len(value)}", hints=[last])
    return value[i]


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


def _element_hint(index: Val, shape: tuple[int, ...]) -> str:
    if is_tile(index) and index.type.dtype.is_bool:
        return "choose by a mask with ct.where(mask, x, y)"
    if index is Ellipsis or (isinstance(index, slice) and index == slice(None)):
        return "leave the index out: it would be the whole tile"
    entries = index if isinstance(index, tuple) else (index,)
    entries = (*entries, *[slice(None)] * (len(shape) - len(entries)))
    numbers = [known(e) if is_loose(e) or is_tile(e) else None for e in entries]
    if len(entries) == len(shape) and all(isinstance(k, int) or e == slice(None) for e, k in
                                          zip(entries, numbers, strict=True)):
        return "take it out as a part: " + _part(shape, numbers)
    return "t[:, None] adds an axis; take a part with ct.extract, elements of an array with ct.gather"


def _part(shape: tuple[int, ...], numbers: Sequence[Any]) -> str:
    """The call that takes the elements at constant positions; None stands for all of an axis."""
    index = tuple(0 if k is None else int(k) % n for n, k in zip(shape, numbers, strict=True))
    part = tuple(n if k is None else 1 for n, k in zip(shape, numbers, strict=True))
    kept = tuple(n for n, k in zip(shape, numbers, strict=True) if k is None)
    return f"ct.extract(t, {index}, {part}).reshape({kept})"


def _keeps_axes(entry: Val) -> bool:
    return entry is None or entry is Ellipsis or (isinstance(entry, slice) and entry == slice(None))


def new_axes(t: Translator, value: Value, index: Val) -> Value:
    """`t[:, None]`: None adds an axis, `:` keeps one, `...` keeps the rest."""
    entries = index if isinstance(index, tuple) else (index,)
    if (index is not None and not isinstance(index, tuple)) or not all(map(_keeps_axes, entries)):
        hints = [_element_hint(index, value.type.shape)]
        raise TileTypeError(f"{named(value)} cannot be indexed by element", hints=hints)
    shape = value.type.shape
    kept = sum(e == slice(None) for e in entries)
    if kept > len(shape):
        raise TileTypeError(f"too many axes in the index: the tile has {len(shape)}, the index keeps {kept}",
                            hints=["each : keeps one axis, each None adds one"])
    if sum(e is Ellipsis for e in entries) > 1:
        raise TileTypeError("an index can have one ... only", hints=["write : for each axis that is kept"])
    if Ellipsis not in entries:
        entries = (*entries, Ellipsis)
    out: list[int] = []
    position = 0
    for e in entries:
        count = len(shape) - kept if e is Ellipsis else 0 if e is None else 1
        out += shape[position : position + count] if count or e is Ellipsis else [1]
        position += count
    return t.emit(Reshape, src=value, shape=tuple(out))
