"""Reductions: sum, prod, max, min, argmax, argmin, any, all."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tilewright.frontend.calls.arith import as_bool, binary
from tilewright.frontend.calls.options import axis_of, bad, check_rounding, each, flag
from tilewright.frontend.calls.registry import add_rule
from tilewright.frontend.calls.shape import tile_arg
from tilewright.frontend.promotion import cast
from tilewright.frontend.translator import Translator
from tilewright.frontend.values import Val, is_tile, known, named
from tilewright.tileir.core import Op, Value
from tilewright.tileir.dtypes import bool_, int32
from tilewright.tileir.ops import reduce as ops
from tilewright.tileir.ops.shape import Reshape


def reducible(t: Translator, op: str, x: Val) -> Value:
    """The operand of a reduction or scan; bools count as int32."""
    tile = tile_arg(t, op, "x", x)
    if not tile.type.dtype.arithmetic:
        raise bad(op, "x", f"is a {tile.type.dtype} tile, which cannot be computed with",
                  hints=["cast it: x.astype(ct.float32)"])
    return cast(t, tile, int32) if tile.type.dtype is bool_ else tile


def _axes(op: str, axis: Val, rank: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(rank))
    given = axis if isinstance(axis, tuple) else (axis,)
    if op in ("max", "min") and (isinstance(axis, float) or (is_tile(axis) and known(axis) is None)):
        raise bad(op, "axis", f"must be a constant integer, got {named(axis)}",
                  hints=[f"{op} combines the elements of one tile; of two tiles or numbers write ct.{op}imum(x, y)"])
    axes = each(lambda a: axis_of(op, "axis", a, rank), given)
    if len(set(axes)) < len(axes):
        raise bad(op, "axis", "names an axis twice", hints=["negative axes count from the end: -1 is the last"])
    return tuple(sorted(axes))


def _keep(t: Translator, value: Value, shape: tuple[int, ...], axes: tuple[int, ...], keep: bool) -> Value:
    """Put the reduced axes back with length 1."""
    if not keep or not axes:
        return value
    return t.emit(Reshape, src=value, shape=tuple(1 if k in axes else n for k, n in enumerate(shape)))


def _reduce(t: Translator, op: str, kind: type[Op], x: Val, axis: Val, keepdims: Val, options: dict[str, Any]) -> Val:
    tile = reducible(t, op, x)
    fields = {k: v for k, v in options.items() if v is not None}
    if fields:
        check_rounding(op, op, tile.type.dtype, options)
    axes = _axes(op, axis, tile.type.rank)
    keep = flag(op, "keepdims", keepdims)
    if not axes and getattr(kind, "merged_by", None) is None:
        return tile  # one element is its own result, unless a reduction prepares it
    return _keep(t, t.emit(kind, src=tile, axes=axes, **fields), tile.type.shape, axes, keep)


def _accumulation(op: str, kind: type[Op]) -> Callable[..., Val]:
    def rule(
        t: Translator, x: Val, /, axis: Val = None, *, keepdims: Val = False, rounding_mode: Val = None,
        flush_to_zero: Val = False,
    ) -> Val:
        options = {"rounding": rounding_mode, "ftz": flag(op, "flush_to_zero", flush_to_zero) or None}
        return _reduce(t, op, kind, x, axis, keepdims, options)

    return rule


def _extreme(op: str, kind: type[Op]) -> Callable[..., Val]:
    def rule(
        t: Translator, x: Val, /, axis: Val = None, *, keepdims: Val = False, flush_to_zero: Val = False,
        propagate_nan: Val = False,
    ) -> Val:
        options = {
            "ftz": flag(op, "flush_to_zero", flush_to_zero) or None,
            "propagate_nan": flag(op, "propagate_nan", propagate_nan) or None,
        }
        return _reduce(t, op, kind, x, axis, keepdims, options)

    return rule


def _position(op: str, kind: type[Op]) -> Callable[..., Val]:
    def rule(t: Translator, x: Val, /, axis: Val = None, *, keepdims: Val = False, propagate_nan: Val = False) -> Val:
        tile = reducible(t, op, x)
        shape = tile.type.shape
        nan = flag(op, "propagate_nan", propagate_nan)
        keep = flag(op, "keepdims", keepdims)
        if isinstance(axis, tuple):
            raise bad(op, "axis", "must be one constant integer or None")
        if axis is not None:
            k = axis_of(op, "axis", axis, len(shape))
            return _keep(t, t.emit(kind, src=tile, axis=k, propagate_nan=nan), shape, (k,), keep)
        # Without an axis the position counts in the flattened tile.
        flat = tile if len(shape) == 1 else t.emit(Reshape, src=tile, shape=(tile.type.size,))
        result = t.emit(kind, src=flat, axis=0, propagate_nan=nan)
        return _keep(t, result, shape, tuple(range(len(shape))), keep)

    return rule


def _truth(op: str, kind: type[Op], fold: Any, combine: str) -> Callable[..., Val]:
    """Whether elements are not zero: a maximum or minimum of 0 and 1."""

    def rule(t: Translator, x: Val, /, axis: Val = None, *, keepdims: Val = False) -> Val:
        if isinstance(x, tuple):
            truths = [known(v) if known(v) is not None else as_bool(t, tile_arg(t, op, "x", v)) for v in x]
            if all(isinstance(v, (bool, int, float)) for v in truths):
                return bool(fold(truths))
            return functools.reduce(lambda a, b: binary(t, combine, as_bool(t, a), as_bool(t, b)), truths)
        tile = cast(t, as_bool(t, tile_arg(t, op, "x", x)), int32)
        return as_bool(t, _reduce(t, op, kind, tile, axis, keepdims, {}))

    return rule


for _name, _kind in (("sum", ops.ReduceSum), ("prod", ops.ReduceProd)):
    add_rule(_name, _accumulation(_name, _kind))
for _name, _kind in (("max", ops.ReduceMax), ("min", ops.ReduceMin)):  # type: ignore[assignment]
    add_rule(_name, _extreme(_name, _kind))
for _name, _kind in (("argmax", ops.ArgMax), ("argmin", ops.ArgMin)):  # type: ignore[assignment]
    add_rule(_name, _position(_name, _kind))
add_rule("any", _truth("any", ops.ReduceMax, any, "bitwise_or"), any)
add_rule("all", _truth("all", ops.ReduceMin, all, "bitwise_and"), all)
