"""Tiles side by side in an axis of their own: join, split, interleave."""

from __future__ import annotations

from tilewright.frontend.calls.options import bad
from tilewright.frontend.calls.registry import call_rule
from tilewright.frontend.calls.shape import tile_arg
from tilewright.frontend.promotion import broadcast, common_shape
from tilewright.frontend.translator import Translator
from tilewright.frontend.values import Val, named
from tilewright.tileir.core import Value
from tilewright.tileir.dtypes import int32
from tilewright.tileir.ops.shape import Cat, Extract, Reshape


def _joined(t: Translator, op: str, x: Val, y: Val) -> Value:
    tiles = [tile_arg(t, op, name, v) for name, v in (("x", x), ("y", y))]
    if tiles[0].type.dtype is not tiles[1].type.dtype:
        raise bad(op, "y", f"is {tiles[1].type.dtype}, but x is {tiles[0].type.dtype}",
                  hints=[f"write y.astype(ct.{tiles[0].type.dtype})"])
    shape = common_shape(op, *tiles)
    parts = [t.emit(Reshape, src=broadcast(t, v, shape), shape=(*shape, 1)) for v in tiles]
    return t.emit(Cat, lhs=parts[0], rhs=parts[1], axis=len(shape))


@call_rule("join")
def join(t: Translator, x: Val, y: Val, /) -> Val:
    return _joined(t, "join", x, y)


@call_rule("interleave")
def interleave(t: Translator, x: Val, y: Val, /) -> Val:
    both = _joined(t, "interleave", x, y)
    *outer, pair = both.type.shape
    shape = (*outer[:-1], outer[-1] * pair) if outer else (pair,)
    return t.emit(Reshape, src=both, shape=shape)


@call_rule("split")
def split(t: Translator, x: Val, /) -> Val:
    tile = tile_arg(t, "split", "x", x)
    shape = tile.type.shape
    if not shape or shape[-1] != 2:
        raise bad("split", "x", f"must have a last axis of length 2, got {named(x)}",
                  hints=["write ct.split(x.reshape((..., n // 2, 2))) for the elements at even and odd places"])
    zero = t.constant(0, int32)
    parts = []
    for half in (0, 1):
        index = (*(zero for _ in shape[:-1]), t.constant(half, int32))
        part = t.emit(Extract, src=tile, index=index, shape=(*shape[:-1], 1))
        parts.append(t.emit(Reshape, src=part, shape=shape[:-1]))
    return tuple(parts)
