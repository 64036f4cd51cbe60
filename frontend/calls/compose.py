"""Functions that are made of other ops: insert, astile, pack_to_bytes, unpack_from_bytes."""

from __future__ import annotations

from tilewright.frontend.calls.arith import binary
from tilewright.frontend.calls.factories import scalar_arg
from tilewright.frontend.calls.options import bad, dtype_arg
from tilewright.frontend.calls.registry import RULES, call_rule
from tilewright.frontend.calls.shape import sub_tile_index, tile_arg
from tilewright.frontend.promotion import broadcast, cast
from tilewright.frontend.translator import Translator
from tilewright.frontend.values import Val, named
from tilewright.tileir.core import Value
from tilewright.tileir.dtypes import DType, bool_, float4_e2m1fn, int32, uint8, uint16, uint32, uint64
from tilewright.tileir.ops.arith import Select
from tilewright.tileir.ops.convert import Bitcast
from tilewright.tileir.ops.reduce import ReduceSum
from tilewright.tileir.ops.shape import Cat, Iota, Reshape

_UNSIGNED = {8: uint8, 16: uint16, 32: uint32, 64: uint64}


@call_rule("insert")
def insert(t: Translator, x: Val, /, index: Val, value: Val) -> Val:
    x, part = tile_arg(t, "insert", "x", x), tile_arg(t, "insert", "value", value)
    if part.type.dtype is not x.type.dtype:
        raise bad("insert", "value", f"is {part.type.dtype}, but the tile is {x.type.dtype}",
                  hints=[f"write value.astype(ct.{x.type.dtype})"])
    whole = x.type.shape
    lengths = part.type.shape or (1,) * len(whole)
    positions = sub_tile_index(t, "insert", index, whole, lengths)
    mask: Val = True
    for k, (position, n, m) in enumerate(zip(positions, whole, lengths, strict=True)):
        number = binary(t, "floordiv", t.emit(Iota, size=n, dtype=int32), m)
        here = binary(t, "equal", number, cast(t, position, int32))
        placed = t.emit(Reshape, src=here, shape=tuple(n if i == k else 1 for i in range(len(whole))))
        mask = binary(t, "bitwise_and", mask, placed) if mask is not True else placed
    if mask is True:
        return part
    return t.emit(Select, cond=broadcast(t, mask, whole), lhs=_repeated(t, part, lengths, whole), rhs=x)


def _repeated(t: Translator, part: Value, lengths: tuple[int, ...], whole: tuple[int, ...]) -> Value:
    """A part laid side by side until it fills the whole."""
    spread = tuple(d for m in lengths for d in (1, m))
    filled = tuple(d for n, m in zip(whole, lengths, strict=True) for d in (n // m, m))
    tile = broadcast(t, t.emit(Reshape, src=part, shape=spread), filled)
    return t.emit(Reshape, src=tile, shape=whole)


@call_rule("astile")
def astile(t: Translator, value: Val, /, *, dtype: Val) -> Val:
    dtype = dtype_arg("astile", "dtype", dtype)
    return _stacked(t, value, dtype)


def _stacked(t: Translator, value: Val, dtype: DType) -> Value:
    if not isinstance(value, tuple):
        return scalar_arg(t, "astile", "value", value, dtype)
    n = len(value)
    if n < 1 or n & (n - 1):
        raise bad("astile", "value", f"has a tuple of {n}; the lengths of a tile are powers of two",
                  hints=["fill it up to a power of two"])
    parts = [_stacked(t, v, dtype) for v in value]
    if len({p.type.shape for p in parts}) > 1:
        raise bad("astile", "value", "must nest evenly: its tuples have different lengths",
                  hints=["give every row the same length"])
    parts = [t.emit(Reshape, src=p, shape=(1, *p.type.shape)) for p in parts]
    while len(parts) > 1:
        parts = [t.emit(Cat, lhs=a, rhs=b, axis=0) for a, b in zip(parts[::2], parts[1::2], strict=True)]
    return parts[0]


@call_rule("pack_to_bytes")
def pack_to_bytes(t: Translator, x: Val, /) -> Val:
    x = tile_arg(t, "pack_to_bytes", "x", x)
    dtype = x.type.dtype
    if dtype is bool_:
        hints = ["cast it: x.astype(ct.uint8)"]
        raise bad("pack_to_bytes", "x", "is a bool tile, which has no fixed bits", hints=hints)
    flat = t.emit(Reshape, src=x, shape=(x.type.size,))
    if dtype is float4_e2m1fn:
        return _pack_nibbles(t, _bitcast(t, flat, uint8))
    bits = _bitcast(t, flat, _UNSIGNED[dtype.bitwidth])
    count = dtype.bitwidth // 8
    if count == 1:
        return bits
    shifts = binary(t, "mul", t.emit(Iota, size=count, dtype=bits.type.dtype), 8)
    rows = t.emit(Reshape, src=bits, shape=(x.type.size, 1))
    parts = cast(t, binary(t, "bitwise_rshift", rows, shifts), uint8)
    return t.emit(Reshape, src=parts, shape=(x.type.size * count,))


@call_rule("unpack_from_bytes")
def unpack_from_bytes(t: Translator, x: Val, /, dtype: Val) -> Val:
    x = tile_arg(t, "unpack_from_bytes", "x", x)
    dtype = dtype_arg("unpack_from_bytes", "dtype", dtype)
    if x.type.dtype is not uint8 or len(x.type.shape) != 1:
        raise bad("unpack_from_bytes", "x", f"must be a 1-D uint8 tile, got {named(x)}",
                  hints=["write x.reshape((-1,)), or ct.pack_to_bytes(x) for other dtypes"])
    if dtype is bool_:
        raise bad("unpack_from_bytes", "dtype", "cannot be bool_, which has no fixed bits",
                  hints=["compare the bytes: x != 0"])
    if dtype is float4_e2m1fn:
        return _bitcast(t, _unpack_nibbles(t, x), float4_e2m1fn)
    count = dtype.bitwidth // 8
    if x.type.size % count:
        raise bad("unpack_from_bytes", "x", f"has {x.type.size} bytes, but a {dtype} has {count}",
                  hints=[f"give it a multiple of {count} bytes"])
    word = _UNSIGNED[dtype.bitwidth]
    if count == 1:
        return _bitcast(t, x, dtype)
    rows = cast(t, t.emit(Reshape, src=x, shape=(x.type.size // count, count)), word)
    shifted = binary(t, "bitwise_lshift", rows, binary(t, "mul", t.emit(Iota, size=count, dtype=word), 8))
    return _bitcast(t, t.emit(ReduceSum, src=shifted, axes=(1,)), dtype)


def _bitcast(t: Translator, x: Value, dtype: DType) -> Value:
    return x if x.type.dtype is dtype else t.emit(Bitcast, src=x, dtype=dtype)


# -- Four-bit floats -------------------------------------------------------------------------------------------------


def _pack_nibbles(t: Translator, codes: Value) -> Value:
    if codes.type.size % 2:
        raise bad("pack_to_bytes", "x", "has one four-bit element; a byte holds two",
                  hints=["take two elements or more"])
    pairs = t.emit(Reshape, src=codes, shape=(codes.type.size // 2, 2))
    shifts = binary(t, "mul", t.emit(Iota, size=2, dtype=uint8), 4)
    return t.emit(ReduceSum, src=binary(t, "bitwise_lshift", pairs, shifts), axes=(1,))


def _unpack_nibbles(t: Translator, x: Value) -> Value:
    rows = t.emit(Reshape, src=x, shape=(x.type.size, 1))
    shifts = binary(t, "mul", t.emit(Iota, size=2, dtype=uint8), 4)
    nibbles = binary(t, "bitwise_and", binary(t, "bitwise_rshift", rows, shifts), 15)
    return t.emit(Reshape, src=nibbles, shape=(2 * x.type.size,))


RULES["Tile.insert"] = RULES["insert"]
