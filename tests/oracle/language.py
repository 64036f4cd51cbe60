"""The functions of the language on tiles of `oracle.tiles`; in a launch each block runs the kernel as plain Python."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
from oracle import numbers as num
from oracle import places
from oracle.numbers import BOOL, DTYPES, DType, Number
from oracle.tiles import (
    INT32,
    Shape,
    Tile,
    both,
    common,
    floor,
    fold,
    meet,
    positions,
    scalar,
    typed,
    whole,
)


class Array:
    """An array argument, or a part of one: NumPy holds the elements and does nothing else."""

    def __init__(self, held: np.ndarray, dtype: DType) -> None:
        self.held, self.dtype = held, dtype
        self.shape = tuple(scalar(INT32, n) for n in held.shape)

    def read(self, position: Sequence[int], otherwise: Number) -> Number:
        if not all(0 <= p < n for p, n in zip(position, self.held.shape, strict=True)):
            return otherwise
        value = self.held[tuple(position)]
        return bool(value) if self.dtype is BOOL else float(value) if self.dtype.kind == "float" else int(value)

    def write(self, position: Sequence[int], value: Number) -> None:
        if all(0 <= p < n for p, n in zip(position, self.held.shape, strict=True)):
            self.held[tuple(position)] = value

    def slice(self, axis: int, start: Any, stop: Any) -> Array:
        first, last = whole(start), whole(stop)
        assert 0 <= first <= last <= self.held.shape[axis]
        return Array(self.held[(slice(None),) * axis + (slice(first, last),)], self.dtype)

    def tiled_view(self, shape: Any, *, padding_mode: str, traversal_steps: Any = None) -> View:
        return View(self, as_tuple(shape), padding_mode, as_tuple(traversal_steps or shape))


class View:
    """An array as tiles."""

    def __init__(self, array: Array, shape: Shape, padding: str, steps: Shape) -> None:
        self.array, self.shape, self.padding, self.steps = array, shape, padding, steps

    def load(self, index: Any) -> Tile:
        return load(self.array, index, self.shape, padding_mode=self.padding, steps=self.steps)

    def store(self, index: Any, tile: Any) -> None:
        store(self.array, index, tile, steps=self.steps)

    def num_tiles(self, axis: int) -> Tile:
        return scalar(INT32, -(-self.array.held.shape[axis] // self.steps[axis]))


PADDING = {"ZERO": 0.0, "NEG_ZERO": -0.0, "NAN": math.nan, "POS_INF": math.inf, "NEG_INF": -math.inf}
block: list[tuple[Shape, Shape]] = [((0, 0, 0), (1, 1, 1))]


def as_tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, tuple) else (value,)


def place(index: Any, steps: Shape, order: Sequence[int]) -> Callable[[Shape], list[int]]:
    """From the position in a tile to the one in the array."""
    start = [whole(i) * s for i, s in zip(as_tuple(index), steps, strict=True)]

    def at(p: Shape) -> list[int]:
        out = [0] * len(p)
        for k, axis in enumerate(order):
            out[axis] = start[k] + p[k]
        return out

    return at


def axes_of(order: Any, rank: int) -> Sequence[int]:
    return range(rank) if order == "C" else range(rank - 1, -1, -1) if order == "F" else order


def load(array: Array, index: Any, shape: Any, *, order: Any = "C", padding_mode: str = "ZERO",
         steps: Shape | None = None) -> Tile:
    shape = as_tuple(shape)
    if not shape:
        return Tile(array.dtype, (), {(): array.read([whole(i) for i in as_tuple(index)], 0)})
    padding = PADDING[padding_mode]
    otherwise = padding if array.dtype.kind == "float" else array.dtype is not BOOL and 0
    at = place(index, steps or shape, axes_of(order, len(shape)))
    return Tile(array.dtype, shape, {p: array.read(at(p), otherwise) for p in positions(shape)})


def store(array: Array, index: Any, tile: Any, *, order: Any = "C", steps: Shape | None = None) -> None:
    value = typed(tile, array.dtype)
    value = value if value.dtype == array.dtype else value.astype(array.dtype)
    if not value.shape:
        array.write([whole(i) for i in as_tuple(index)], value.at[()])
        return
    at = place(index, steps or value.shape, axes_of(order, len(value.shape)))
    for p, element in value.at.items():
        array.write(at(p), element)


def _met(indices: Any, *more: Any) -> tuple[list[Tile], Shape]:
    """Indices (and a mask, a value) as tiles, and the shape that they broadcast to."""
    tiles = [typed(i, INT32) for i in (*as_tuple(indices), *(m for m in more if m is not None))]
    shape: Shape = ()
    for tile in tiles:
        shape = meet(tile.astype(BOOL), Tile(BOOL, shape, {p: True for p in positions(shape)}))[3]
    return tiles[: len(as_tuple(indices))], shape


def gather(array: Array, indices: Any, *, mask: Tile | None = None, padding_value: Any = 0) -> Tile:
    where, shape = _met(indices, mask)
    padding = typed(padding_value, array.dtype).astype(array.dtype)
    at = {}
    for p in positions(shape):
        inside = mask is None or mask.element(p)
        at[p] = array.read([i.element(p) for i in where], padding.element(p)) if inside else padding.element(p)
    return Tile(array.dtype, shape, at)


def scatter(array: Array, indices: Any, value: Any, *, mask: Tile | None = None) -> None:
    value = typed(value, array.dtype).astype(array.dtype)
    where, shape = _met(indices, mask)
    for p in positions(shape):
        if mask is None or mask.element(p):
            array.write([i.element(p) for i in where], value.element(p))


def _atomic(combine: Callable[[Number, Number, DType], Number]) -> Callable[..., Tile]:
    def function(array: Array, indices: Any, update: Any) -> Tile:
        update = typed(update, array.dtype).astype(array.dtype)
        where, shape = _met(indices, update)
        old = {}
        for p in positions(shape):
            position = [i.element(p) for i in where]
            old[p] = array.read(position, 0)
            array.write(position, combine(old[p], update.element(p), array.dtype))
        return Tile(array.dtype, shape, old)

    return function


def _rows(array: Array, indices: tuple[Any, ...]) -> Callable[[Shape], list[int]]:
    """From a position in a tile of `load_advanced_indexing` to the one in the array."""
    def at(p: Shape) -> list[int]:
        return [i.start + k if isinstance(i, Slice) else int(i.at[(k,)]) for i, k in zip(indices, p, strict=True)]

    return at


class Slice:
    """A run of elements."""

    def __init__(self, start: Any, length: int) -> None:
        self.start, self.length = whole(start), length


def load_advanced_indexing(array: Array, indices: tuple[Any, ...], *, padding_mode: str = "ZERO") -> Tile:
    shape = tuple(i.length if isinstance(i, Slice) else i.shape[0] for i in indices)
    at = _rows(array, indices)
    otherwise = PADDING[padding_mode] if array.dtype.kind == "float" else array.dtype is not BOOL and 0
    return Tile(array.dtype, shape, {p: array.read(at(p), otherwise) for p in positions(shape)})


def full(shape: Any, value: Any, dtype: DType) -> Tile:
    element = typed(value, dtype).astype(dtype).at[()]
    return Tile(dtype, as_tuple(shape), {p: element for p in positions(as_tuple(shape))})


def arange(size: int, *, dtype: DType, start: Number = 0, step: Number = 1) -> Tile:
    return Tile(dtype, (size,), {(k,): num.convert(start + k * step, dtype) for k in range(size)})


def where(cond: Any, x: Any, y: Any) -> Tile:
    dtype = common(x, y)
    a, b, test = typed(x, dtype).astype(dtype), typed(y, dtype).astype(dtype), typed(cond, BOOL).astype(BOOL)
    shape = meet(test, Tile(BOOL, meet(a, b)[3], {p: True for p in positions(meet(a, b)[3])}))[3]
    return Tile(dtype, shape, {p: (a if test.element(p) else b).element(p) for p in positions(shape)})


def mma(x: Tile, y: Tile, acc: Tile) -> Tile:
    """Exact sums, rounded once: right to the bit where every partial sum is a number of the format."""
    at = {}
    for *head, m, n in positions(acc.shape):
        terms = [(x.element((*head, m, k)), y.element((*head, k, n))) for k in range(x.shape[-1])]
        total = acc.at[(*head, m, n)] + sum(a * b for a, b in terms)
        at[(*head, m, n)] = num.convert(total, acc.dtype)
    return Tile(acc.dtype, acc.shape, at)


def cat(tiles: tuple[Tile, Tile], axis: int) -> Tile:
    left, right = tiles
    shape = tuple(2 * n if k == axis else n for k, n in enumerate(left.shape))
    moved = {(*p[:axis], p[axis] + left.shape[axis], *p[axis + 1:]): v for p, v in right.at.items()}
    return Tile(left.dtype, shape, {**left.at, **moved})


def _best(x: Tile, axis: int | None, better: Callable[[Number, Number], bool], keepdims: bool) -> Tile:
    """The smallest position of the best element; NaNs lose."""
    source = x.reshape((len(x.at),)) if axis is None else x

    def line(values: list[Number]) -> list[Number]:
        best = 0
        for k, value in enumerate(values):
            if value == value and (values[best] != values[best] or better(value, values[best])):
                best = k
        return [best]

    kept = places.along(source, axis, line, INT32)
    if keepdims:
        return kept
    return kept.reshape(() if axis is None else x.shape[:axis] + x.shape[axis + 1:])


def _function(func: Callable[..., Any], dtype: DType) -> Callable[[Number, Number], Number]:
    """A kernel's function of two scalars, of numbers."""
    return lambda a, b: func(scalar(dtype, a), scalar(dtype, b)).at[()]


def _counted_as(x: Tile) -> Tile:
    """Sums of bools are int32."""
    return x.astype(INT32) if x.dtype is BOOL else x


def _sum(x: Tile, axis: Any = None, *, keepdims: bool = False) -> Tile:
    x = _counted_as(x)
    return fold(x, axis, lambda a, b: num.add(a, b, x.dtype), keepdims)


def _prod(x: Tile, axis: Any = None, *, keepdims: bool = False) -> Tile:
    x = _counted_as(x)
    return fold(x, axis, lambda a, b: num.mul(a, b, x.dtype), keepdims)


def _extreme(largest: bool) -> Callable[..., Tile]:
    def function(x: Tile, axis: Any = None, *, keepdims: bool = False, propagate_nan: bool = False) -> Tile:
        return fold(_counted_as(x), axis, lambda a, b: num.extreme(a, b, largest, propagate_nan), keepdims)

    return function


def _of_two(largest: bool) -> Callable[..., Tile]:
    def function(x: Any, y: Any, *, propagate_nan: bool = False) -> Tile:
        return both(x, y, lambda a, b, dtype: num.extreme(a, b, largest, propagate_nan))

    return function


def clamp(x: Any, low: Any, high: Any) -> Tile:
    """A NaN stays a NaN."""
    dtype = common(common_tile(x, low), high)
    x, low, high = (typed(v, dtype).astype(dtype) for v in (x, low, high))
    inside = _of_two(False)(_of_two(True)(x, low), high)
    return where(both(x, x, lambda a, b, _: a != b, BOOL), x, inside) if dtype.kind == "float" else inside


def common_tile(x: Any, y: Any) -> Tile:
    """Something of the dtype in which both meet."""
    return scalar(common(x, y), 0)


def integral(function: Callable[[float], int]) -> Callable[[Tile], Tile]:
    return lambda x: x.map(lambda v: floor(v, function))


def _counted(*bounds: Any) -> Iterator[Tile]:
    return (scalar(INT32, i) for i in range(*map(whole, bounds)))


def _bitcast(x: Tile, dtype: DType) -> Tile:
    return x.map(lambda v: num.of_bits(num.bits_of(v, x.dtype), dtype), dtype)


FUNCTIONS: dict[str, Any] = {
    **places.FUNCTIONS,
    "load": load, "store": store, "gather": gather, "scatter": scatter, "full": full, "arange": arange, "where": where,
    "load_advanced_indexing": load_advanced_indexing, "Slice": Slice,
    "mma": mma, "cat": cat, "sum": _sum, "prod": _prod, "bitcast": _bitcast, "clamp": clamp,
    "argmax": lambda x, axis=None, *, keepdims=False: _best(x, axis, lambda a, b: a > b, keepdims),
    "argmin": lambda x, axis=None, *, keepdims=False: _best(x, axis, lambda a, b: a < b, keepdims),
    "cumsum": lambda x, axis=0, *, reverse=False: places.running(
        x, axis, lambda a, b: num.add(a, b, x.dtype), reverse),
    "cumprod": lambda x, axis=0, *, reverse=False: places.running(
        x, axis, lambda a, b: num.mul(a, b, x.dtype), reverse),
    "scan": lambda x, axis, func, identity, *, reverse=False: places.running(
        x, axis, _function(func, x.dtype), reverse),
    "reduce": lambda x, axis, func, identity, *, keepdims=False: fold(x, axis, _function(func, x.dtype), keepdims),
    "atomic_add": _atomic(num.add), "atomic_xor": _atomic(lambda a, b, dtype: a ^ b),
    "atomic_and": _atomic(lambda a, b, dtype: a & b), "atomic_or": _atomic(lambda a, b, dtype: a | b),
    "atomic_xchg": _atomic(lambda a, b, dtype: b),
    "atomic_max": _atomic(lambda a, b, dtype: num.extreme(a, b, True)),
    "atomic_min": _atomic(lambda a, b, dtype: num.extreme(a, b, False)),
    "max": _extreme(True), "min": _extreme(False), "minimum": _of_two(False), "maximum": _of_two(True),
    "any": lambda x, axis=None, *, keepdims=False: fold(x.astype(BOOL), axis, lambda a, b: a or b, keepdims),
    "all": lambda x, axis=None, *, keepdims=False: fold(x.astype(BOOL), axis, lambda a, b: a and b, keepdims),
    "cdiv": lambda x, y: both(x, y, lambda a, b, dtype: num.wrap(-(-a // b), dtype)),
    "sqrt": lambda x: x.map(lambda v: num.sqrt(v, x.dtype)),
    "floor": integral(math.floor), "ceil": integral(math.ceil), "trunc": integral(math.trunc), "round": integral(round),
    "isnan": lambda x: x.map(lambda v: v != v, BOOL),
    "bid": lambda axis: scalar(INT32, block[0][0][axis]), "num_blocks": lambda axis: scalar(INT32, block[0][1][axis]),
    "tile_kernel": lambda function: function, "static_iter": list, "static_eval": lambda value: value,
    "random": SimpleNamespace(bits=places.bits, randint=places.randint, uniform=places.uniform),
    "PaddingMode": SimpleNamespace(**{name: name for name in PADDING}),
    "RoundingMode": SimpleNamespace(RN="RN", RZ="RZ", RM="RM", RP="RP"),
    **DTYPES,
}
NAMESPACE = SimpleNamespace(**FUNCTIONS)


def argument(value: Any, dtype: Any) -> Any:
    """What the kernel sees of an argument; `dtype` names that of arrays."""
    if isinstance(value, list):
        return [argument(item, dtype) for item in value]
    if isinstance(value, np.ndarray):
        return Array(value, DTYPES[dtype])
    return scalar(DTYPES[dtype], value) if dtype else value


def launch(source: str, name: str, grid: Shape, args: Sequence[Any], dtypes: Sequence[Any]) -> None:
    """Run the kernel `name` of a module's text, which calls the language `ct`, block by block; arrays change in place.

    `dtypes` has the name of each argument's dtype, None for constants.
    """
    names: dict[str, Any] = {"__name__": name, "ct": NAMESPACE, "range": _counted}
    exec(compile(source, f"<{name}>", "exec", dont_inherit=True), names)
    seen = [argument(a, d) for a, d in zip(args, dtypes, strict=True)]
    size = (*grid, 1, 1)[:3]
    for x, y, z in itertools.product(*map(range, size)):
        block[0] = (x, y, z), size
        with np.errstate(all="ignore"):
            names[name](*seen)
