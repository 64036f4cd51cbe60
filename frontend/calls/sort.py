"""Order inside a tile: sort, argsort, topk, histogram.

A bitonic network (K. Batcher, "Sorting networks and their applications", 1968) of minima and maxima over axes of length
2, which become shuffles. Floats are sorted as integers of the same order; positions ride in the low bits of the key, so
that one network orders both and equal keys keep their order.
"""

from __future__ import annotations

from tilewright.frontend.calls.arith import binary, where
from tilewright.frontend.calls.options import axis_of, bad, flag, integer
from tilewright.frontend.calls.registry import call_rule
from tilewright.frontend.calls.shape import tile_arg
from tilewright.frontend.promotion import broadcast, cast
from tilewright.frontend.translator import Translator
from tilewright.frontend.values import Val, named
from tilewright.tileir.core import Value
from tilewright.tileir.dtypes import DType, bool_, int8, int16, int32, int64, uint8, uint32, uint64
from tilewright.tileir.ops.convert import Bitcast
from tilewright.tileir.ops.math import IsNan, Not
from tilewright.tileir.ops.reduce import Histogram, ReduceMax, ReduceMin
from tilewright.tileir.ops.shape import Iota, Permute, Reshape

# Of one histogram: 64 KiB of shared memory.
MOST_BINS = 1 << 14

_SIGNED = {8: int8, 16: int16, 32: int32, 64: int64}


@call_rule("sort")
def sort(t: Translator, x: Val, /, axis: Val = -1, *, descending: Val = False) -> Val:
    tile, k = _operand(t, "sort", x, axis)
    down = flag("sort", "descending", descending)
    rows = _last(t, tile, k)
    keys = _sorted(t, _key(t, rows, down))
    return _back(t, _unkeyed(t, keys, tile.type.dtype, down), tile.type.shape, k)


@call_rule("argsort")
def argsort(t: Translator, x: Val, /, axis: Val = -1, *, descending: Val = False) -> Val:
    tile, k = _operand(t, "argsort", x, axis)
    packed = _sorted(t, _packed(t, "argsort", _last(t, tile, k), flag("argsort", "descending", descending)))
    return _back(t, _position(t, packed), tile.type.shape, k)


def _topk_hints(count: int, length: int) -> list[str]:
    power = 1 << max(count - 1, 0).bit_length()
    if count < 1 or power > length:
        return []
    return [f"take {power}: a store into an array of {count} columns leaves out the rest"]


@call_rule("topk")
def topk(t: Translator, x: Val, k: Val, /, axis: Val = -1, *, largest: Val = True) -> Val:
    tile, along = _operand(t, "topk", x, axis)
    count, down = integer("topk", "k", k), flag("topk", "largest", largest)
    n = tile.type.shape[along]
    if not 1 <= count <= n or count & (count - 1):
        raise bad("topk", "k", f"is {count}; it must be a power of two from 1 to the axis's length, {n}",
                  hints=_topk_hints(count, n))
    best = _least(t, _packed(t, "topk", _last(t, tile, along), down), count)
    shape = (*tile.type.shape[:along], count, *tile.type.shape[along + 1:])
    keys = cast(t, binary(t, "bitwise_rshift", best, _shift(best)), _SIGNED[max(tile.type.dtype.bitwidth, 8)])
    return (_back(t, _unkeyed(t, keys, tile.type.dtype, down), shape, along),
            _back(t, _position(t, best), shape, along))


@call_rule("histogram")
def histogram(t: Translator, x: Val, bins: Val, /) -> Val:
    tile, count = tile_arg(t, "histogram", "x", x), integer("histogram", "bins", bins)
    if not tile.type.dtype.is_int:
        raise bad("histogram", "x", f"must be a tile of integers, got {named(x)}",
                  hints=["cast it: x.astype(ct.int32)"])
    if count < 1 or count & (count - 1):
        raise bad("histogram", "bins", f"is {count}; it must be a power of two",
                  hints=["take the next one: bins that nothing falls into are 0"])
    if count > MOST_BINS:
        raise bad("histogram", "bins", f"is {count}; there are at most {MOST_BINS}",
                  hints=["use ct.atomic_add into an array"])
    # Four bytes hold every bin: longer numbers are none of them where their upper half is not zero.
    numbers = cast(t, tile, int32)
    if tile.type.dtype.bitwidth == 64:
        numbers = where(t, binary(t, "equal", cast(t, numbers, tile.type.dtype), tile), numbers, -1)
    return t.emit(Histogram, src=numbers, bins=count)


# -- Rows ------------------------------------------------------------------------------------------------------------


def _operand(t: Translator, op: str, x: Val, axis: Val) -> tuple[Value, int]:
    tile = tile_arg(t, op, "x", x)
    if not tile.type.dtype.arithmetic:
        raise bad(op, "x", f"is a {tile.type.dtype} tile, which cannot be computed with",
                  hints=["cast it: x.astype(ct.float32)"])
    return tile, axis_of(op, "axis", axis, tile.type.rank)


def _order(rank: int, axis: int) -> tuple[int, ...]:
    """The axes with one of them last."""
    return (*(a for a in range(rank) if a != axis), axis)


def _last(t: Translator, x: Value, axis: int) -> Value:
    """The tile as rows along an axis."""
    order, n = _order(x.type.rank, axis), x.type.shape[axis]
    moved = x if order == tuple(range(len(order))) else t.emit(Permute, src=x, axes=order)
    return t.emit(Reshape, src=moved, shape=(x.type.size // n, n))


def _back(t: Translator, rows: Value, shape: tuple[int, ...], axis: int) -> Value:
    """Rows as a tile of `shape` again."""
    order = _order(len(shape), axis)
    tile = t.emit(Reshape, src=rows, shape=tuple(shape[a] for a in order))
    inverse = tuple(order.index(a) for a in range(len(order)))
    return tile if inverse == tuple(range(len(order))) else t.emit(Permute, src=tile, axes=inverse)


# -- Keys ------------------------------------------------------------------------------------------------------------


def _key(t: Translator, x: Value, down: bool) -> Value:
    """Signed or unsigned integers in the order of the elements, or in the reverse one."""
    dtype: DType = x.type.dtype
    if dtype is bool_:
        x = cast(t, x, uint8)
    elif dtype.is_float:
        bits = t.emit(Bitcast, src=x, dtype=_SIGNED[dtype.bitwidth])
        # The greatest integer stands for every NaN, so that they are last.
        x = where(t, t.emit(IsNan, src=x), bits.type.dtype.int_range[1], _folded(t, bits))
    return t.emit(Not, src=x) if down else x


def _folded(t: Translator, bits: Value) -> Value:
    """Bits of floats as integers of the same order, and back: the magnitude is inverted below zero."""
    high = bits.type.dtype.int_range[1]
    below = binary(t, "bitwise_and", binary(t, "bitwise_rshift", bits, bits.type.dtype.bitwidth - 1), high)
    return binary(t, "bitwise_xor", bits, below)  # type: ignore[no-any-return]


def _unkeyed(t: Translator, keys: Value, dtype: DType, down: bool) -> Value:
    """The elements that had these keys."""
    if down:
        keys = t.emit(Not, src=keys)
    if dtype.is_float:
        return t.emit(Bitcast, src=_folded(t, keys), dtype=dtype)
    return cast(t, keys, dtype)


def _packed(t: Translator, op: str, rows: Value, down: bool) -> Value:
    """Each key above the position of its element."""
    if rows.type.dtype.bitwidth > 32:
        raise bad(op, "x", f"is a {rows.type.dtype} tile: 64 bits leave no room for positions",
                  hints=["cast it to 32 bits, or sort it without positions: ct.sort(x)"])
    keys, n = _key(t, rows, down), rows.type.shape[-1]
    narrow = keys.type.dtype.bitwidth <= 16 and n <= 1 << 16
    if keys.type.dtype.is_signed:
        word = int32 if narrow else int64
    else:
        word = uint32 if narrow else uint64
    high = binary(t, "bitwise_lshift", cast(t, keys, word), word.bitwidth // 2)
    return binary(t, "bitwise_or", high, t.emit(Iota, size=n, dtype=word))  # type: ignore[no-any-return]


def _shift(packed: Value) -> int:
    half: int = packed.type.dtype.bitwidth // 2
    return half


def _position(t: Translator, packed: Value) -> Value:
    return cast(t, binary(t, "bitwise_and", packed, (1 << _shift(packed)) - 1), int32)


# -- The network -----------------------------------------------------------------------------------------------------


def _least(t: Translator, rows: Value, count: int) -> Value:
    """The `count` least integers of each row, in ascending order.

    Of a run that rises and one that falls the lesser elements, place by place, are the least of both, and become a run
    by one merge. So a row is sorted up to runs of `count`, and then halved until one is left.
    """
    rows = _sorted(t, rows, count)
    while (n := rows.type.shape[-1]) > count:
        runs = 2 if count > 1 else n
        folded = t.emit(Reshape, src=rows, shape=(rows.type.size // (runs * count), runs, count))
        rows = t.emit(Reshape, src=t.emit(ReduceMin, src=folded, axes=(1,)), shape=(rows.type.shape[0], n // runs))
        rows = _merged(t, rows, count)
    return rows


def _sorted(t: Translator, rows: Value, most: int = 0) -> Value:
    """Each row of integers in ascending order; or its runs of `most`, which rise and fall by turns."""
    length = 2
    while length <= (most or rows.type.shape[-1]):
        rows = _merged(t, rows, length)
        length *= 2
    return rows


def _merged(t: Translator, rows: Value, length: int) -> Value:
    """Runs of `length`, each rising and falling once, sorted: they rise and fall by turns, one alone rises."""
    distance = length // 2
    while distance:
        rows = _exchanged(t, rows, length if length < rows.type.shape[-1] else 0, distance)
        distance //= 2
    return rows


def _exchanged(t: Translator, rows: Value, length: int, distance: int) -> Value:
    """Elements `distance` apart in order, in the reverse one where the bit `length` of their place is set."""
    pairs = rows.type.size // (2 * distance)
    folded = t.emit(Reshape, src=rows, shape=(pairs, 2, distance))
    low, high = (t.emit(Reshape, src=t.emit(kind, src=folded, axes=(1,)), shape=(pairs, 1, distance))
                 for kind in (ReduceMin, ReduceMax))
    first = t.emit(Reshape, src=binary(t, "equal", t.emit(Iota, size=2, dtype=int32), 0), shape=(1, 2, 1))
    if length:
        bit = binary(t, "bitwise_and", t.emit(Iota, size=pairs, dtype=int32), length // (2 * distance))
        up = t.emit(Reshape, src=binary(t, "equal", bit, 0), shape=(pairs, 1, 1))
        first = binary(t, "equal", first, up)
    chosen = where(t, broadcast(t, first, (pairs, 2, 1)), low, high)
    return t.emit(Reshape, src=chosen, shape=rows.type.shape)
