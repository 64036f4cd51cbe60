"""Changes of shape: reshape, broadcast_to, expand_dims, permute, transpose, cat, extract."""

from __future__ import annotations

import math

from tilewright.frontend.calls.memory import axes_text, index_scalar
from tilewright.frontend.calls.options import axis_of, bad, each, integer, tile_shape
from tilewright.frontend.calls.registry import RULES, call_rule
from tilewright.frontend.promotion import broadcast, broadcast_shapes, typed
from tilewright.frontend.translator import Translator
from tilewright.frontend.values import Val, is_loose, is_tile, known, named
from tilewright.tileir.core import Value
from tilewright.tileir.ops import shape as ops


def tile_arg(t: Translator, op: str, argument: str, value: Val) -> Value:
    """A tile operand; numbers become scalars."""
    if is_tile(value) or is_loose(value):
        return typed(t, value)
    hints = ["load a tile first: ct.load(a, index=..., shape=...)"] if isinstance(value, Value) else []
    raise bad(op, argument, f"must be a tile, got {named(value)}", hints=hints)


@call_rule("reshape")
def reshape(t: Translator, x: Val, /, shape: Val) -> Val:
    x = tile_arg(t, "reshape", "x", x)
    if not isinstance(shape, tuple):
        raise bad("reshape", "shape", f"must be a tuple, got {named(shape)}", hints=[f"write ({describe_int(shape)},)"])
    lengths = each(lambda d: integer("reshape", "shape", d), shape)
    if lengths.count(-1) > 1:
        raise bad("reshape", "shape", "can have one -1 only", hints=["the other lengths must be known"])
    if -1 in lengths:
        rest = math.prod(d for d in lengths if d != -1)
        if rest <= 0 or x.type.size % rest:
            raise bad("reshape", "shape", f"is {tuple(lengths)}, but the tile has {x.type.size} elements",
                      hints=["the lengths that are given must divide them"])
        lengths[lengths.index(-1)] = x.type.size // rest
    new = tile_shape("reshape", "shape", tuple(lengths))
    if math.prod(new) != x.type.size:
        counts = f"{new} has {math.prod(new)} elements, but the tile of shape {x.type.shape} has {x.type.size}"
        raise bad("reshape", "shape", counts, hints=["leave one length open with -1"])
    return x if new == x.type.shape else t.emit(ops.Reshape, src=x, shape=new)


def describe_int(value: Val) -> str:
    """A constant for a hint."""
    constant = known(value)
    return "n" if constant is None else str(constant)


@call_rule("Tile.item")
def item(t: Translator, x: Val, /) -> Val:
    x = tile_arg(t, "item", "x", x)
    if x.type.size != 1:
        raise bad("item", "x", f"must have one element, got {named(x)}",
                  hints=["reduce it first: ct.sum(t), ct.max(t); or take one with ct.extract"])
    return x if not x.type.shape else t.emit(ops.Reshape, src=x, shape=())


@call_rule("broadcast_to")
def broadcast_to(t: Translator, x: Val, /, shape: Val) -> Val:
    x = tile_arg(t, "broadcast_to", "x", x)
    new = tile_shape("broadcast_to", "shape", shape, allow_int=False)
    if broadcast_shapes(x.type.shape, new) != new:
        raise bad("broadcast_to", "shape", f"is {new}, to which a tile of shape {x.type.shape} does not broadcast",
                  hints=["axes are matched from the last one; t[:, None] adds an axis at the end"])
    return broadcast(t, x, new)


@call_rule("expand_dims")
def expand_dims(t: Translator, x: Val, /, axis: Val) -> Val:
    x = tile_arg(t, "expand_dims", "x", x)
    k = axis_of("expand_dims", "axis", axis, x.type.rank + 1)
    return t.emit(ops.Reshape, src=x, shape=(*x.type.shape[:k], 1, *x.type.shape[k:]))


@call_rule("permute")
def permute(t: Translator, x: Val, /, axes: Val) -> Val:
    x = tile_arg(t, "permute", "x", x)
    rank = x.type.rank
    if not isinstance(axes, tuple):
        raise bad("permute", "axes", f"must be a tuple of axes, got {named(axes)}",
                  hints=[f"name every axis, such as {tuple(reversed(range(rank)))}"])
    order = tuple(each(lambda a: axis_of("permute", "axes", a, rank), axes))
    if sorted(order) != list(range(rank)):
        raise bad("permute", "axes", f"is {tuple(map(known, axes))}, but must name each of the tile's {rank} axes once")
    return _permuted(t, x, order)


def _permuted(t: Translator, x: Value, order: tuple[int, ...]) -> Value:
    return x if order == tuple(range(len(order))) else t.emit(ops.Permute, src=x, axes=order)


@call_rule("transpose")
def transpose(t: Translator, x: Val, /, axis0: Val = None, axis1: Val = None) -> Val:
    x = tile_arg(t, "transpose", "x", x)
    rank = x.type.rank
    if rank < 2:
        raise bad("transpose", "x", f"must have two axes or more, got {named(x)}", hints=["add an axis: t[:, None]"])
    if axis0 is None and axis1 is None:
        if rank != 2:
            raise bad("transpose", "axis0", f"is missing: a tile of {rank} axes needs axis0 and axis1")
        axis0, axis1 = 0, 1
    if axis0 is None or axis1 is None:
        raise bad("transpose", "axis1" if axis1 is None else "axis0", "is missing: give both axes or none",
                  hints=["write ct.transpose(t, axis0, axis1)"])
    a, b = axis_of("transpose", "axis0", axis0, rank), axis_of("transpose", "axis1", axis1, rank)
    order = list(range(rank))
    order[a], order[b] = b, a
    return _permuted(t, x, tuple(order))


@call_rule("cat")
def cat(t: Translator, tiles: Val, /, axis: Val) -> Val:
    if not isinstance(tiles, tuple) or not tiles or len(tiles) & (len(tiles) - 1):
        hint = "the length along the axis is a power of two; fill up with ct.zeros(t.shape, t.dtype)"
        raise bad("cat", "tiles", f"must be one, two, four, ... tiles, got {named(tiles)}",
                  hints=[hint if isinstance(tiles, tuple) else "write ct.cat((a, b), axis)"])
    parts = [tile_arg(t, "cat", "tiles", v) for v in tiles]
    k = axis_of("cat", "axis", axis, parts[0].type.rank)
    other = next((p for p in parts if p.type != parts[0].type), None)
    if other is not None:
        raise bad("cat", "tiles", f"must have one dtype and shape, got {named(parts[0])} and {named(other)}",
                  hints=["cast or broadcast one of them first"])
    while len(parts) > 1:
        parts = [t.emit(ops.Cat, lhs=a, rhs=b, axis=k) for a, b in zip(parts[::2], parts[1::2], strict=True)]
    return parts[0]


@call_rule("extract")
def extract(t: Translator, x: Val, /, index: Val, shape: Val) -> Val:
    x = tile_arg(t, "extract", "x", x)
    rank = x.type.rank
    seen = tile_shape("extract", "shape", shape)
    full = seen or (1,) * rank
    positions = sub_tile_index(t, "extract", index, x.type.shape, full)
    tile = t.emit(ops.Extract, src=x, index=positions, shape=full)
    return tile if seen == full else t.emit(ops.Reshape, src=tile, shape=seen)


def sub_tile_index(
    t: Translator, op: str, index: Val, whole: tuple[int, ...], part: tuple[int, ...]
) -> tuple[Value, ...]:
    """The coordinates of a part in a tile, constants checked."""
    if len(part) != len(whole):
        raise bad(op, "shape" if op == "extract" else "value",
                  f"has {axes_text(len(part))}, but the tile has {axes_text(len(whole))}",
                  hints=["reshape the tile first, or give one length per axis"])
    if any(n % m for n, m in zip(whole, part, strict=True)):
        raise bad(op, "shape" if op == "extract" else "value", f"{part} does not divide the tile's shape {whole}")
    items = index if isinstance(index, tuple) else (index,)
    if len(items) != len(whole):
        raise bad(op, "index", f"has {len(items)} entries, but the tile has {axes_text(len(whole))}",
                  hints=["give one number per axis"])
    for v, n, m in zip(items, whole, part, strict=True):
        constant = known(v)
        if constant is not None and not 0 <= constant < n // m:
            raise bad(op, "index", f"is {constant}, but there are {n // m} parts along this axis",
                      hints=[f"the index counts parts of length {m}: 0 to {n // m - 1}"])
    return tuple(index_scalar(t, op, "index", v) for v in items)


for _name in ("reshape", "permute", "transpose", "extract"):
    RULES[f"Tile.{_name}"] = RULES[_name]
