"""Functions of the language that move, order or count elements, or draw random ones; written from docs/language.md."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from oracle import numbers as num
from oracle.numbers import BOOL, DTYPES, F32, Number
from oracle.tiles import INT32, Shape, Tile, added, both, broadcast, meet, multiplied, positions, typed, whole

UINT32 = DTYPES["uint32"]


def with_axis(p: Shape, axis: int, k: int) -> Shape:
    return (*p[:axis], k, *p[axis + 1:])


def lines(x: Tile, axis: int) -> Iterable[tuple[Shape, list[Number]]]:
    """The elements along an axis, with the position of the first."""
    for p in positions(with_axis(x.shape, axis, 1)):
        yield p, [x.at[with_axis(p, axis, k)] for k in range(x.shape[axis])]


def along(x: Tile, axis: int | None, function: Callable[[list[Number]], list[Number]], dtype: Any = None) -> Tile:
    """Each line along an axis replaced by another one."""
    axis = (0 if axis is None else axis) % len(x.shape)
    at, length = {}, x.shape[axis]
    for p, line in lines(x, axis):
        changed = function(line)
        length = len(changed)
        at.update({with_axis(p, axis, k): value for k, value in enumerate(changed)})
    return Tile(dtype or x.dtype, with_axis(x.shape, axis, length), at)


def key(value: Number) -> tuple[bool, Number, float]:
    """-0.0 is before 0.0; NaNs are last, and equal whatever their sign."""
    return (True, 0, 0.0) if value != value else (False, value, math.copysign(1, value))


def order(line: list[Number], descending: bool) -> list[int]:
    """Positions in ascending or descending order; equal elements keep theirs."""
    return sorted(range(len(line)), key=lambda k: key(line[k]), reverse=descending)


def sort(x: Tile, axis: int = -1, *, descending: bool = False) -> Tile:
    return along(x, axis, lambda line: [line[k] for k in order(line, descending)])


def argsort(x: Tile, axis: int = -1, *, descending: bool = False) -> Tile:
    return along(x, axis, lambda line: order(line, descending), INT32)


def topk(x: Tile, k: int, axis: int = -1, *, largest: bool = True) -> tuple[Tile, Tile]:
    return (along(x, axis, lambda line: [line[i] for i in order(line, largest)[:k]]),
            along(x, axis, lambda line: order(line, largest)[:k], INT32))


def histogram(x: Tile, bins: int) -> Tile:
    values = list(x.at.values())
    return Tile(INT32, (bins,), {(k,): values.count(k) for k in range(bins)})


def join(x: Tile, y: Tile) -> Tile:
    a, b, dtype, shape = meet(x, y)
    return Tile(dtype, (*shape, 2), {(*p, k): (a, b)[k].element(p) for p in positions(shape) for k in (0, 1)})


def split(x: Tile) -> tuple[Tile, Tile]:
    shape = x.shape[:-1]
    first, second = (Tile(x.dtype, shape, {p: x.at[(*p, k)] for p in positions(shape)}) for k in (0, 1))
    return first, second


def interleave(x: Tile, y: Tile) -> Tile:
    joined = join(x, y)
    return joined.reshape((*joined.shape[:-2], 2 * joined.shape[-2]))


def take(x: Tile, index: Tile, axis: int | None = None) -> Tile:
    axis = (0 if axis is None else axis) % len(x.shape)
    if len(index.shape) == 1:
        wide = [1] * len(x.shape)
        wide[axis] = index.shape[0]
        index = index.reshape(tuple(wide))
    source = with_axis(x.shape, axis, 1)
    shape = broadcast(with_axis(source, axis, index.shape[axis]), index.shape)
    at = {p: x.element(with_axis(p, axis, index.element(p) % x.shape[axis])) for p in positions(shape)}
    return Tile(x.dtype, shape, at)


def roll(x: Tile, shift: Any, axis: int | None = None) -> Tile:
    by = whole(shift)
    return along(x, axis, lambda line: [line[(k - by) % len(line)] for k in range(len(line))])


def flip(x: Tile, axis: int | None = None) -> Tile:
    return along(x, axis, lambda line: line[::-1])


def insert(x: Tile, index: Any, value: Tile) -> Tile:
    start = [whole(i) for i in (index if isinstance(index, tuple) else (index,))]
    lengths = value.shape or (1,) * len(start)
    at = dict(x.at)
    for p in positions(lengths):
        at[tuple(s * n + k for s, n, k in zip(start, lengths, p, strict=True))] = value.at[p if value.shape else ()]
    return Tile(x.dtype, x.shape, at)


def broadcast_to(x: Tile, shape: Shape) -> Tile:
    return Tile(x.dtype, shape, {p: x.element(p) for p in positions(shape)})


def running(x: Tile, axis: int, combine: Callable[[Number, Number], Number], reverse: bool) -> Tile:
    """Each element combined with all before it."""
    def line(values: list[Number]) -> list[Number]:
        out: list[Number] = []
        for value in values[::-1] if reverse else values:
            out.append(combine(out[-1], value) if out else value)
        return out[::-1] if reverse else out

    return along(x, axis, line)


# --- Philox4x32-10 -------------------------------------------------------------------------------------------------

def philox_words(seed: int, sequence: int, counter: int) -> list[int]:
    words = [counter % 2**32, counter // 2**32, sequence % 2**32, sequence // 2**32]
    keys = [seed % 2**32, seed // 2**32]
    for _ in range(10):
        low, high = words[0] * 0xD2511F53, words[2] * 0xCD9E8D57
        words = [high // 2**32 ^ words[1] ^ keys[0], high % 2**32, low // 2**32 ^ words[3] ^ keys[1], low % 2**32]
        keys = [(keys[0] + 0x9E3779B9) % 2**32, (keys[1] + 0xBB67AE85) % 2**32]
    return words


def bits(seed: Any, sequence: Any, offset: Any = 0) -> Tile:
    given = [typed(value, DTYPES["int64"]) for value in (seed, sequence, offset)]
    shape: Shape = ()
    for tile in given:
        shape = broadcast(shape, tile.shape)

    def word(p: Shape) -> int:
        key_, line, place = (tile.element(p) % 2**64 for tile in given)
        return philox_words(key_, line, place // 4)[place % 4]

    return Tile(UINT32, shape, {p: word(p) for p in positions(shape)})


def randint(seed: Any, sequence: Any, offset: Any = 0, *, low: int = 0, high: int) -> Tile:
    return bits(seed, sequence, offset).map(lambda v: low + (v * (high - low) >> 32), INT32)


def uniform(seed: Any, sequence: Any, offset: Any = 0) -> Tile:
    return bits(seed, sequence, offset).map(lambda v: (v >> 8) / 2**24, F32)


# --- functions of single elements -----------------------------------------------------------------------------------

def ffs(value: int) -> int:
    return (value & -value).bit_length()


def divided(x: Tile, y: Tile, *, rounding_mode: str = "RN", flush_to_zero: bool = False) -> Tile:
    divide = num.flushing(num.div, flush_to_zero)
    return both(x, y, lambda a, b, dtype: divide(a, b, dtype, rounding_mode))


def summed(sign: int) -> Callable[..., Tile]:
    return lambda x, y, *, rounding_mode="RN", flush_to_zero=False: added(x, y, 1, sign, rounding_mode, flush_to_zero)


def unsigned(function: Callable[[int, int], int]) -> Callable[[Tile], Tile]:
    """A function of the bits of an integer and their number."""
    return lambda x: x.map(lambda v: function(v % (1 << x.dtype.bits), x.dtype.bits), INT32)


FUNCTIONS: dict[str, Any] = {
    "sort": sort, "argsort": argsort, "topk": topk, "histogram": histogram, "join": join, "split": split,
    "interleave": interleave, "take": take, "roll": roll, "flip": flip, "insert": insert, "broadcast_to": broadcast_to,
    "add": summed(1), "sub": summed(-1), "truediv": divided,
    "mul": lambda x, y, *, rounding_mode="RN", flush_to_zero=False: multiplied(x, y, rounding_mode, flush_to_zero),
    "popcount": unsigned(lambda v, n: v.bit_count()), "clz": unsigned(lambda v, n: n - v.bit_length()),
    "ffs": unsigned(lambda v, n: ffs(v)), "pow": lambda x, y: x**y, "divmod": lambda x, y: (x // y, x % y),
    "isinf": lambda x: x.map(math.isinf, BOOL), "isfinite": lambda x: x.map(math.isfinite, BOOL),
}
