"""Reductions and scans by a function of the user, cumsum and cumprod. The function becomes a body of scalar ops."""

from __future__ import annotations

from typing import Any

from tilewright.frontend.advice import on_number
from tilewright.frontend.calls.arith import binary
from tilewright.frontend.calls.call import call_value
from tilewright.frontend.calls.options import axis_of, bad, check_rounding, flag
from tilewright.frontend.calls.reduce import reducible
from tilewright.frontend.calls.registry import call_rule
from tilewright.frontend.calls.shape import tile_arg
from tilewright.frontend.promotion import broadcast, common_shape, implicit_cast
from tilewright.frontend.translator import Translator
from tilewright.frontend.values import Val, is_loose, is_tile, known, named
from tilewright.tileir.core import Block, Op, Value
from tilewright.tileir.diagnostics import TileSyntaxError, TileTypeError
from tilewright.tileir.dtypes import DType
from tilewright.tileir.ops.arith import Constant
from tilewright.tileir.ops.control import Yield
from tilewright.tileir.ops.fold import Fold, ReduceWith, ScanWith
from tilewright.tileir.ops.shape import Broadcast, Iota, Reshape
from tilewright.tileir.types import TileType


@call_rule("reduce")
def reduce(t: Translator, x: Val, /, axis: Val, func: Val, identity: Val, *, keepdims: Val = False) -> Val:
    tiles, k = _operands(t, "reduce", x, axis, func, identity)
    keep = flag("reduce", "keepdims", keepdims)
    results = _fold(t, "reduce", ReduceWith, x, tiles, k, func)
    if keep:
        final = tuple(1 if i == k else n for i, n in enumerate(tiles[0].type.shape))
        results = [t.emit(Reshape, src=v, shape=final) for v in results]
    return _like(x, results)


@call_rule("scan")
def scan(t: Translator, x: Val, /, axis: Val, func: Val, identity: Val, *, reverse: Val = False) -> Val:
    tiles, k = _operands(t, "scan", x, axis, func, identity)
    return _like(x, _fold(t, "scan", ScanWith, x, tiles, k, func, reverse=flag("scan", "reverse", reverse)))


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
    block, (a, b) = _body([tile.type.dtype])
    with t.inside(block):
        t.emit_op(Yield, values=(binary(t, name, a, b, op, **options),))
    return t.emit(ScanWith, srcs=(tile,), axis=k, reverse=flag(op, "reverse", reverse), combine=block)


# -- The user's function -----------------------------------------------------------------------------------------------


def _body(dtypes: list[DType]) -> tuple[Block, list[Value]]:
    """An empty body for tiles of these dtypes, and its parameters: earlier elements, then later ones."""
    block = Block()
    return block, [block.add_param(TileType(d), letter) for letter in "ab" for d in dtypes]


def _operands(t: Translator, op: str, x: Val, axis: Val, func: Val, identity: Val) -> tuple[list[Value], int]:
    """The tiles brought to one shape, and the axis. The identity only tells what the user's function has as one."""
    if t.combining:
        raise TileSyntaxError(f"{op}: not possible inside the function of a {t.combining}",
                              hints=["reduce first, and use the result; scalars have nothing to combine"])
    items = x if isinstance(x, tuple) else (x,)
    tiles = [tile_arg(t, op, "x", v) for v in items]
    if not tiles:
        raise bad(op, "x", "is an empty tuple", hints=["give a tile, or a tuple of tiles"])
    for tile in tiles:
        if not tile.type.dtype.arithmetic:
            raise bad(op, "x", f"holds {tile.type.dtype}, which cannot be computed with",
                      hints=["cast it: x.astype(ct.float32)"])
    if is_tile(func) or is_loose(func) or isinstance(func, (str, tuple, type(None))):
        raise bad(op, "func", f"must be a function of two scalars, got {named(func)}",
                  hints=["write lambda a, b: a + b, or ct.maximum"])
    shape = common_shape(op, *tiles)
    k = axis_of(op, "axis", axis, len(shape))
    starts = identity if isinstance(identity, tuple) else (identity,)
    if len(starts) != len(tiles):
        raise bad(op, "identity", f"must hold a constant for each of the {len(tiles)} tiles, got {named(identity)}",
                  hints=[f"write {(0,) * len(tiles)}"])
    for start in starts:
        if known(start) is None:
            raise bad(op, "identity", f"must be a constant scalar, got {named(start)}",
                      hints=["it is the value that changes nothing: 0 for +, 1 for *, -inf for max"])
    return [broadcast(t, v, shape) for v in tiles], k


def _fold(
    t: Translator, op: str, kind: type[Fold], x: Val, tiles: list[Value], axis: int, func: Val, **fields: Any
) -> list[Value]:
    dtypes = [v.type.dtype for v in tiles]
    block, params = _body(dtypes)
    with t.inside(block):
        values = _call(t, op, func, params, dtypes, grouped=isinstance(x, tuple))
        t.emit_op(Yield, values=tuple(values))
    return list(t.emit_op(kind, srcs=tuple(tiles), axis=axis, combine=block, **fields).results)


def _call(
    t: Translator, op: str, func: Val, params: list[Value], dtypes: list[DType], *, grouped: bool
) -> list[Value]:
    t.combining = op
    try:
        value = call_value(t, func, params, {})
    finally:
        t.combining = ""
    refused = [new for new in t.block.ops if not _computes(new)]
    for new in refused:
        if not (new.elementwise or isinstance(new, _MAKE_TILES)):
            raise TileSyntaxError(f"{op}: its function can have no loops, branches, memory access or reductions",
                                  new.span, hints=["choose with ct.where(cond, x, y); compute the rest outside"])
    for new in refused:
        raise TileTypeError(f"{op}: its function works on scalars, but this is {named(new.results[0])}", new.span,
                            hints=["give the tiles to combine as the first argument"])
    results = value if isinstance(value, tuple) else (value,)
    if isinstance(value, tuple) is not grouped or len(results) != len(dtypes):
        wanted = f"a tuple of {len(dtypes)} scalars" if grouped else "one scalar"
        names = ", ".join("abcdefgh"[: len(dtypes)])
        hint = f"return ({names})" if grouped else "give several tiles as a tuple to combine them together"
        raise TileTypeError(f"{op}: its function must return {wanted}, got {named(value)}",
                            hints=[hint])
    return [_scalar(t, op, v, d) for v, d in zip(results, dtypes, strict=True)]


_MAKE_TILES = (Constant, Broadcast, Iota, Reshape)


def _computes(op: Op) -> bool:
    """Whether an op of the function works on scalars alone."""
    scalars = all(isinstance(v.type, TileType) and not v.type.shape for v in (*op.operands, *op.results))
    return scalars and (op.elementwise or isinstance(op, Constant))


def _scalar(t: Translator, op: str, value: Val, dtype: DType) -> Value:
    """A result of the function in the dtype of the tile that it stands for."""
    what = f"{op}: the result of its function"
    if not (is_tile(value) or is_loose(value)):
        raise TileTypeError(f"{what} must be a scalar, got {named(value)}", hints=on_number(value))
    if is_tile(value) and value.type.shape:
        raise TileTypeError(f"{what} must be a scalar, got {named(value)}",
                            hints=["give the tiles to combine as the first argument"])
    return implicit_cast(t, what, value, dtype)


def _like(x: Val, tiles: list[Value]) -> Val:
    return tuple(tiles) if isinstance(x, tuple) else tiles[0]
