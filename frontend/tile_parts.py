"""`t[...]` of a tile: new axes, and parts whose place and length are known while compiling."""

from __future__ import annotations

from typing import Any

from tilewright.frontend.calls.call import call_rule_by_name
from tilewright.frontend.calls.memory import index_scalar
from tilewright.frontend.translator import Translator
from tilewright.frontend.values import ListOf, Val, is_loose, is_tile, known, named
from tilewright.tileir.core import Value
from tilewright.tileir.diagnostics import TileTypeError
from tilewright.tileir.ops.shape import Extract, Reshape

_ALL = slice(None)


def part(t: Translator, tile: Value, index: Val) -> Value:
    """`t[i]` takes an axis away, `t[a:b]` shortens one, None adds one, `...` keeps the rest."""
    entries = _spelled_out(tile, index)
    taken = [e for e in entries if e is not None]
    for axis, entry in enumerate(taken):
        if isinstance(entry, slice):
            tile, taken[axis] = _straightened(t, tile, axis, entry)
    shape = tuple(n if e == _ALL else e.stop - e.start if isinstance(e, slice) else 1
                  for n, e in zip(tile.type.shape, taken, strict=True))
    if shape != tile.type.shape:
        starts = ((e.start or 0) // n if isinstance(e, slice) else e for n, e in zip(shape, taken, strict=True))
        places = tuple(index_scalar(t, "t[i]", "i", i) for i in starts)
        tile = t.emit(Extract, src=tile, index=places, shape=shape)
    lengths = iter(zip(shape, taken, strict=True))
    out = [(1, None) if e is None else next(lengths) for e in entries]
    new = tuple(n for n, e in out if e is None or isinstance(e, slice))
    return tile if new == tile.type.shape and len(new) else t.emit(Reshape, src=tile, shape=new)


def _spelled_out(tile: Value, index: Val) -> list[Any]:
    """One entry for each axis of the tile, and None for each new one: slices, integers, integer scalars."""
    shape = tile.type.shape
    entries = list(index) if isinstance(index, tuple) and not isinstance(index, ListOf) else [index]
    axes = sum(e is not None and e is not Ellipsis for e in entries)
    if sum(e is Ellipsis for e in entries) > 1:
        raise TileTypeError("an index can have one ... only", hints=["write : for each axis that is kept"])
    if axes > len(shape):
        raise TileTypeError(f"too many axes in the index: the tile has {len(shape)}, the index names {axes}",
                            hints=["each : keeps one axis, each None adds one"])
    place = next((i for i, e in enumerate(entries) if e is Ellipsis), len(entries))
    entries[place:place + 1] = [_ALL] * (len(shape) - axes)
    lengths = iter(shape)
    return [e if e is None else _entry(tile, e, next(lengths)) for e in entries]


def _entry(tile: Value, entry: Val, length: int) -> Any:
    if isinstance(entry, slice):
        bounds = [known(b) if b is not None else None for b in (entry.start, entry.stop, entry.step)]
        for given, bound in zip((entry.start, entry.stop, entry.step), bounds, strict=True):
            if given is not None and type(bound) is not int:
                raise TileTypeError(f"the bounds of a part of a tile must be constant integers, got {named(given)}",
                                    hints=["ct.extract(t, index, shape) takes a part at a place that only the run "
                                           "knows, counted in its lengths"])
        return slice(*bounds)
    constant = known(entry)
    if type(constant) is int:
        if not -length <= constant < length:
            raise TileTypeError(f"index {constant} is out of range for an axis of {length}")
        return constant % length
    if is_tile(entry) and entry.type.dtype.is_int and not entry.type.shape:
        return entry
    raise TileTypeError(f"{named(tile)} cannot be indexed by {named(entry)}", hints=[_hint(entry)])


def _hint(entry: Val) -> str:
    if (is_tile(entry) or is_loose(entry)) and (isinstance(entry, bool) or getattr(entry, "type", None)):
        if isinstance(entry, bool) or entry.type.dtype.is_bool:
            return "choose by a mask with ct.where(mask, x, y)"
        if entry.type.dtype.is_int:
            return "elements at places that a tile gives: ct.take(t, places, axis)"
    return "an index is made of constant slices, integers, None and ..."


def _straightened(t: Translator, tile: Value, axis: int, wanted: slice) -> tuple[Value, slice]:
    """A tile in which the elements of a slice stand together, at a multiple of their number, and that slice."""
    n = tile.type.shape[axis]
    if wanted in (_ALL, slice(0, n, 1)):
        return tile, _ALL
    if wanted.step == 0:
        raise TileTypeError(f"a step of 0 along axis {axis}", hints=["write 1 to go up, -1 to go down"])
    places = range(*wanted.indices(n))
    count, step = len(places), abs(places.step)
    if not count:
        raise TileTypeError(f"an empty part along axis {axis}: no element of {n} is in it",
                            hints=["tiles have one element or more along each axis"])
    if count & (count - 1):
        raise TileTypeError(f"a part of {count} elements along axis {axis}: the lengths of tiles are powers of two",
                            hints=["take the next one, and leave elements out by ct.where(mask, x, y)"])
    if step & (step - 1):
        raise TileTypeError(f"a step of {step} along axis {axis}: steps are powers of two",
                            hints=["ct.take(t, places, axis) takes elements at any places"])
    if places.step < 0:
        places = places[::-1]
    first, length = places.start - places.start % step, count * step
    if first % length:
        tile = call_rule_by_name(t, "roll", (tile, -first), axis=axis)
        places = range(places.start - first, places.stop - first, places.step)
        first = 0
    if step > 1:
        tile = _column(t, tile, axis, step, places.start % step)
        first //= step
    if wanted.step is not None and wanted.step < 0:
        whole = slice(first, first + count)
        return call_rule_by_name(t, "flip", (_cut(t, tile, axis, whole),), axis=axis), _ALL
    return tile, _ALL if count == tile.type.shape[axis] else slice(first, first + count)


def _cut(t: Translator, tile: Value, axis: int, wanted: slice) -> Value:
    keeps = [_ALL] * tile.type.rank
    keeps[axis] = wanted
    return part(t, tile, tuple(keeps))


def _column(t: Translator, tile: Value, axis: int, step: int, column: int) -> Value:
    """Every `step`-th element along an axis."""
    shape = tile.type.shape
    split = (*shape[:axis], shape[axis] // step, step, *shape[axis + 1:])
    tile = t.emit(Reshape, src=tile, shape=split)
    places = tuple(index_scalar(t, "t[i]", "i", column if k == axis + 1 else 0) for k in range(len(split)))
    one = tuple(1 if k == axis + 1 else m for k, m in enumerate(split))
    tile = t.emit(Extract, src=tile, index=places, shape=one)
    return t.emit(Reshape, src=tile, shape=(*shape[:axis], shape[axis] // step, *shape[axis + 1:]))
