"""The elements of a tile at other places: take, roll, flip."""

from __future__ import annotations

from tilewright.frontend.calls.arith import binary
from tilewright.frontend.calls.memory import axes_text, index_scalar
from tilewright.frontend.calls.options import axis_of, bad
from tilewright.frontend.calls.registry import call_rule
from tilewright.frontend.calls.shape import tile_arg
from tilewright.frontend.promotion import broadcast, broadcast_shapes, cast
from tilewright.frontend.translator import Translator
from tilewright.frontend.values import Val, named
from tilewright.tileir.core import Value
from tilewright.tileir.dtypes import int32
from tilewright.tileir.ops.shape import Iota, Reshape, Take


@call_rule("take")
def take(t: Translator, x: Val, index: Val, /, axis: Val = None) -> Val:
    tile, k = _operand(t, "take", x, axis)
    places = tile_arg(t, "take", "index", index)
    if not places.type.dtype.is_int or not places.type.shape:
        raise bad("take", "index", f"must be a tile of integers, got {named(index)}",
                  hints=["of one element, write ct.extract(x, index, shape)"])
    if places.type.rank == 1:
        places = _aligned(t, places, tile.type.rank, k)
    if places.type.rank != tile.type.rank:
        raise bad("take", "index", f"has {axes_text(places.type.rank)}, but x has {axes_text(tile.type.rank)}",
                  hints=["give one position for each element of the result, or for all rows a tile of one axis"])
    others = broadcast_shapes(*(_without(v.type.shape, k) for v in (tile, places)))
    if others is None:
        raise bad("take", "index", f"has the shape {places.type.shape}, but x {tile.type.shape}",
                  hints=[f"only axis {k} may have another length"])
    tile, places = (broadcast(t, v, (*others[:k], v.type.shape[k], *others[k + 1:])) for v in (tile, places))
    return t.emit(Take, src=tile, index=places, axis=k)


@call_rule("roll")
def roll(t: Translator, x: Val, shift: Val, /, axis: Val = None) -> Val:
    tile, k = _operand(t, "roll", x, axis)
    distance = cast(t, index_scalar(t, "roll", "shift", shift), int32)
    return _moved(t, tile, binary(t, "sub", _places(t, tile, k), distance), k)


@call_rule("flip")
def flip(t: Translator, x: Val, /, axis: Val = None) -> Val:
    tile, k = _operand(t, "flip", x, axis)
    return _moved(t, tile, binary(t, "sub", tile.type.shape[k] - 1, _places(t, tile, k)), k)


def _operand(t: Translator, op: str, x: Val, axis: Val) -> tuple[Value, int]:
    tile = tile_arg(t, op, "x", x)
    if axis is None and tile.type.rank == 1:
        return tile, 0
    if axis is None and tile.type.rank:
        raise bad(op, "axis", f"is missing: x has {axes_text(tile.type.rank)}",
                  hints=["write axis=-1 for the last one"])
    return tile, axis_of(op, "axis", 0 if axis is None else axis, tile.type.rank)


def _places(t: Translator, tile: Value, axis: int) -> Value:
    return t.emit(Iota, size=tile.type.shape[axis], dtype=int32)


def _moved(t: Translator, tile: Value, places: Value, axis: int) -> Value:
    """The elements at the same places of every row."""
    index = broadcast(t, _aligned(t, places, tile.type.rank, axis), tile.type.shape)
    return t.emit(Take, src=tile, index=index, axis=axis)


def _aligned(t: Translator, places: Value, rank: int, axis: int) -> Value:
    """A tile of one axis as one of `rank` axes."""
    shape = tuple(places.type.size if k == axis else 1 for k in range(rank))
    return t.emit(Reshape, src=places, shape=shape) if rank > 1 else places


def _without(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return (*shape[:axis], 1, *shape[axis + 1:])
