"""Tiles from nothing: full, zeros, ones, arange; calls of a dtype."""

from __future__ import annotations

from tilewright.frontend.advice import on_number
from tilewright.frontend.calls.options import about, bad, dtype_arg, tile_shape
from tilewright.frontend.calls.registry import call_rule
from tilewright.frontend.promotion import broadcast, cast, convert, typed
from tilewright.frontend.translator import Translator
from tilewright.frontend.values import Val, is_loose, is_tile, known, named
from tilewright.tileir.core import Value
from tilewright.tileir.diagnostics import TileTypeError, TileValueError
from tilewright.tileir.dtypes import DType, int32
from tilewright.tileir.ops import arith as arith_ops
from tilewright.tileir.ops.shape import Iota


def scalar_arg(t: Translator, op: str, argument: str, value: Val, dtype: DType) -> Value:
    """A scalar operand converted to a dtype as `astype` does; constants stay constants."""
    constant = known(value)
    if constant is not None:
        return t.constant(convert(constant, dtype), dtype)
    if is_tile(value) and not value.type.shape:
        return cast(t, value, dtype)
    hints = []
    if is_tile(value):
        hints = ["write ct.broadcast_to(t, shape)" if op == "full" else "compute with the tile afterwards, by + and *"]
    raise bad(op, argument, f"must be a scalar, got {named(value)}", hints=hints)


@call_rule("full")
def full(t: Translator, shape: Val, fill_value: Val, dtype: Val) -> Val:
    return filled(t, "full", shape, fill_value, dtype)


@call_rule("zeros")
def zeros(t: Translator, shape: Val, dtype: Val) -> Val:
    return filled(t, "zeros", shape, 0, dtype)


@call_rule("ones")
def ones(t: Translator, shape: Val, dtype: Val) -> Val:
    return filled(t, "ones", shape, 1, dtype)


def filled(t: Translator, op: str, shape: Val, value: Val, dtype: Val) -> Value:
    """A tile with the same value everywhere."""
    lengths = tile_shape(op, "shape", shape)
    dtype = dtype_arg(op, "dtype", dtype)
    constant = known(value)
    if constant is not None:
        with about("fill_value"):
            return t.constant(convert(constant, dtype), dtype, lengths)
    return broadcast(t, scalar_arg(t, op, "fill_value", value, dtype), lengths)


@call_rule("arange")
def arange(t: Translator, size: Val, /, *, dtype: Val, start: Val = 0, step: Val = 1) -> Val:
    shape = tile_shape("arange", "size", size)
    if isinstance(size, tuple):
        raise bad("arange", "size", f"must be a constant integer, got {named(size)}")
    dtype = dtype_arg("arange", "dtype", dtype)
    if not dtype.arithmetic or dtype.is_bool:
        raise bad("arange", "dtype", f"must be an integer or float dtype, got {dtype}",
                  hints=["write ct.arange(n, dtype=ct.int32).astype(dtype)"])
    if dtype.is_int:
        tile = t.emit(Iota, size=shape[0], dtype=dtype)
    else:
        tile = cast(t, t.emit(Iota, size=shape[0], dtype=int32), dtype)
    if known(step) != 1:
        factor = broadcast(t, scalar_arg(t, "arange", "step", step, dtype), shape)
        tile = t.emit(arith_ops.Mul, lhs=tile, rhs=factor)
    if known(start) != 0:
        offset = broadcast(t, scalar_arg(t, "arange", "start", start, dtype), shape)
        tile = t.emit(arith_ops.Add, lhs=tile, rhs=offset)
    return tile


@call_rule("dtype")
def dtype_call(t: Translator, dtype: Val, value: Val = 0, /) -> Val:
    """`ct.float32(x)`: a scalar of that dtype."""
    if dtype.name == "float4_e2m1fn":
        raise TileTypeError(f"{dtype} cannot be called", hints=["four-bit values exist in tiles only"])
    with about("value"):
        if isinstance(value, str):
            value = _parse(value, dtype)
        constant = known(value)
        if constant is not None:
            return t.constant(convert(constant, dtype), dtype)
        if is_loose(value) or not is_tile(value):
            raise TileTypeError(f"{dtype}(...): expected a number, got {named(value)}", hints=on_number(value))
        if value.type.shape:
            raise TileTypeError(f"{dtype}(...): expected a scalar, got {named(value)}",
                                hints=[f"write x.astype(ct.{dtype})"])
        return typed(t, value, dtype)


def _parse(text: str, dtype: DType) -> bool | int | float:
    try:
        return float(text) if dtype.is_float else int(text)
    except ValueError:
        raise TileValueError(f"{dtype}({text!r}): not a number",
                             hints=["write its digits, such as '1.5', 'inf' or 'nan'"]) from None
