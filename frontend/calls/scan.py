"""Reductions and scans by a function of the user, cumsum and cumprod: made of extract, cat and the function's ops.

The function is translated once per level, on tiles instead of scalars: its ops work element by element, so combining
two tiles combines all their pairs at once. log2(n) levels; neighbours keep their order, so the function need not
commute.
"""

from __future__ import annotations

from collections.abc import Callable

from tilewright.frontend.calls.arith import binary
from tilewright.frontend.calls.call import call_value
from tilewright.frontend.calls.options import axis_of, bad, check_rounding, flag
from tilewright.frontend.calls.reduce import reducible
from tilewright.frontend.calls.registry import call_rule
from tilewright.frontend.calls.shape import tile_arg
from tilewright.frontend.promotion import broadcast, broadcast_shapes, common_shape, implicit_cast, typed
from tilewright.frontend.translator import Translator
from tilewright.frontend.values import Val, is_loose, is_tile, known, named
from tilewright.tileir.core import Value
from tilewright.tileir.diagnostics import TileSyntaxError, TileTypeError
from tilewright.tileir.dtypes import int32
from tilewright.tileir.ops.shape import Cat, Extract, Reshape

Tiles = list[Value]
Combine = Callable[[Tiles, Tiles], Tiles]


@call_rule("reduce")
def reduce(t: Translator, x: Val, /, axis: Val, func: Val, identity: Val, *, keepdims: Val = False) -> Val:
    tiles, k, combine = _operands(t, "reduce", x, axis, func, identity)
    shape = tiles[0].type.shape
    n = shape[k]
    while n > 1:
        n //= 2
        split = (*shape[:k], n, 2, *shape[k + 1 :])
        pairs = [t.emit(Reshape, src=v, shape=split) for v in tiles]
        smaller = (*shape[:k], n, *shape[k + 1 :])
        left, right = ([_part(t, v, k + 1, side, smaller) for v in pairs] for side in (0, 1))
        tiles = combine(left, right)
    keep = flag("reduce", "keepdims", keepdims)
    final = tuple(1 if i == k else m for i, m in enumerate(shape) if keep or i != k)
    return _like(x, [t.emit(Reshape, src=v, shape=final) for v in tiles])


@call_rule("scan")
def scan(t: Translator, x: Val, /, axis: Val, func: Val, identity: Val, *, reverse: Val = False) -> Val:
    tiles, k, combine = _operands(t, "scan", x, axis, func, identity)
    return _like(x, _scan(t, tiles, k, flag("scan", "reverse", reverse), combine))


@call_rule("cumsum")
def cumsum(
    t: Translator, x: Val, /, axis: Val = 0, *, reverse: Val = False, rounding_mode: Val = None,
    flush_to_zero: Val = False,
) -> Val:
    return _cumulate(t, "cumsum", "add", x, axis, reverse, rounding_mode, flush_to_zero)


@call_rule("cumprod")
def cumprod(
    t: Translator, x: Val, /, axis: Val = 0, *, reverse: Val = False, rounding_mode: Val = None,
    flush_to_zero: Val = False,
) -> Val:
    return _cumulate(t, "cumprod", "mul", x, axis, reverse, rounding_mode, flush_to_zero)


def _cumulate(t: Translator, op: str, name: str, x: Val, axis: Val, reverse: Val, mode: Val, flush: Val) -> Value:
    tile = reducible(t, op, x)
    options = {"rounding": mode, "ftz": flag(op, "flush_to_zero", flush) or None}
    check_rounding(op, op, tile.type.dtype, options)
    k = axis_of(op, "axis", axis, tile.type.rank)

    def combine(left: Tiles, right: Tiles) -> Tiles:
        return [binary(t, name, left[0], right[0], op, **options)]

    return _scan(t, [tile], k, flag(op, "reverse", reverse), combine)[0]


def _scan(t: Translator, tiles: Tiles, k: int, reverse: bool, combine: Combine) -> Tiles:
    """Running combination along axis k. Level by level, runs of 1, 2, 4, ... finished elements are joined in pairs:

    the last element of a pair's left run is combined into each element of its right run (reversed: the other way).
    """
    shape = tiles[0].type.shape
    n, run = shape[k], 1
    while run < n:
        pairs = n // (2 * run)
        split = (*shape[:k], pairs, 2, run, *shape[k + 1 :])
        half = (*shape[:k], pairs, 1, run, *shape[k + 1 :])
        blocks = [t.emit(Reshape, src=v, shape=split) for v in tiles]
        left, right = ([_part(t, v, k + 1, side, half) for v in blocks] for side in (0, 1))
        done, rest = (right, left) if reverse else (left, right)
        edge = (*half[: k + 2], 1, *half[k + 3 :])
        total = [broadcast(t, _part(t, v, k + 2, 0 if reverse else run - 1, edge), half) for v in done]
        rest = combine(total, rest)
        left, right = (rest, done) if reverse else (done, rest)
        tiles = [
            t.emit(Reshape, src=t.emit(Cat, lhs=a, rhs=b, axis=k + 1), shape=shape)
            for a, b in zip(left, right, strict=True)
        ]
        run *= 2
    return tiles


def _part(t: Translator, tile: Value, axis: int, position: int, shape: tuple[int, ...]) -> Value:
    """One element along an axis (all along the others), under `shape`."""
    lengths = tuple(1 if i == axis else n for i, n in enumerate(tile.type.shape))
    index = tuple(typed(t, position if i == axis else 0, int32) for i in range(len(lengths)))
    part = t.emit(Extract, src=tile, index=index, shape=lengths)
    return part if lengths == shape else t.emit(Reshape, src=part, shape=shape)


# -- The user's function -----------------------------------------------------------------------------------------------


def _operands(
    t: Translator, op: str, x: Val, axis: Val, func: Val, identity: Val
) -> tuple[Tiles, int, Combine]:
    """The tiles brought to one shape, the axis, and the function as a combination of groups of tiles."""
    items = x if isinstance(x, tuple) else (x,)
    tiles = [tile_arg(t, op, "x", v) for v in items]
    if not tiles:
        raise bad(op, "x", "is an empty tuple")
    shape = common_shape(op, *tiles)
    k = axis_of(op, "axis", axis, len(shape))
    starts = identity if isinstance(identity, tuple) else (identity,)
    if len(starts) != len(tiles):
        raise bad(op, "identity", f"has {len(starts)} values for {len(tiles)} tiles")
    for start in starts:
        if known(start) is None:
            raise bad(op, "identity", f"must be a constant scalar, got {named(start)}")

    def combine(left: Tiles, right: Tiles) -> Tiles:
        return _call(t, op, func, left, right, grouped=isinstance(x, tuple))

    return [broadcast(t, v, shape) for v in tiles], k, combine


def _call(t: Translator, op: str, func: Val, left: Tiles, right: Tiles, *, grouped: bool) -> Tiles:
    if t.combining:
        raise TileSyntaxError(f"{op}: not possible inside the function of a {t.combining}")
    before = len(t.block.ops)
    t.combining = op
    try:
        value = call_value(t, func, [*left, *right], {})
    finally:
        t.combining = ""
    for new in t.block.ops[before:]:
        if new.blocks or not new.effects().none:
            raise TileSyntaxError(f"{op}: its function can have no loops, branches or memory access", new.span)
    results = value if isinstance(value, tuple) else (value,)
    if isinstance(value, tuple) is not grouped or len(results) != len(left):
        wanted = f"a tuple of {len(left)} scalars" if grouped else "one scalar"
        raise TileTypeError(f"{op}: its function must return {wanted}, got {named(value)}")
    return [_same_kind(t, op, v, like) for v, like in zip(results, left, strict=True)]


def _same_kind(t: Translator, op: str, value: Val, like: Value) -> Value:
    """A result of the function in the dtype and shape of the tile that it stands for."""
    what = f"{op}: the result of its function"
    if not (is_tile(value) or is_loose(value)):
        raise TileTypeError(f"{what} must be a scalar, got {named(value)}")
    tile = implicit_cast(t, what, value, like.type.dtype)
    if broadcast_shapes(tile.type.shape, like.type.shape) != like.type.shape:
        raise TileTypeError(f"{what} must be a scalar")
    return broadcast(t, tile, like.type.shape)


def _like(x: Val, tiles: Tiles) -> Val:
    return tuple(tiles) if isinstance(x, tuple) else tiles[0]
