"""Tiles as lists of elements, with the operators of the language: a kernel runs on them as the Python that it is."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from oracle import numbers as num
from oracle.numbers import BOOL, DTYPES, F32, DType, Number

Shape = tuple[int, ...]
INT32, INT64 = DTYPES["int32"], DTYPES["int64"]


def positions(shape: Shape) -> Iterator[Shape]:
    return itertools.product(*map(range, shape))


class Tile:
    """`at` holds the elements by position."""

    def __init__(self, dtype: DType, shape: Shape, at: dict[Shape, Number]) -> None:
        self.dtype, self.shape, self.at = dtype, shape, at

    def element(self, position: Shape) -> Number:
        """The element that meets `position` of a shape that this one broadcasts to."""
        tail = position[len(position) - len(self.shape):]
        return self.at[tuple(0 if n == 1 else p for p, n in zip(tail, self.shape, strict=True))]

    def map(self, function: Callable[[Number], Number], dtype: DType | None = None) -> Tile:
        return Tile(dtype or self.dtype, self.shape, {p: function(v) for p, v in self.at.items()})

    def astype(self, dtype: DType, *, rounding_mode: str = "RN") -> Tile:
        return self.map(lambda v: num.convert(v, dtype, rounding_mode), dtype)

    def reshape(self, shape: Shape) -> Tile:
        values = [self.at[p] for p in positions(self.shape)]
        return Tile(self.dtype, shape, dict(zip(positions(shape), values, strict=True)))

    def permute(self, axes: Sequence[int]) -> Tile:
        shape = tuple(self.shape[a] for a in axes)
        return Tile(self.dtype, shape, {tuple(p[a] for a in axes): v for p, v in self.at.items()})

    def extract(self, index: Any, shape: Shape) -> Tile:
        start = [whole(i) * n for i, n in zip(index, shape, strict=True)]
        return Tile(self.dtype, shape, {p: self.at[tuple(s + k for s, k in zip(start, p, strict=True))]
                                        for p in positions(shape)})

    def __getitem__(self, key: Any) -> Tile:
        """`None` adds an axis, `:` keeps one."""
        rest = iter(self.shape)
        keys = key if isinstance(key, tuple) else (key,)
        return self.reshape((*(1 if k is None else next(rest) for k in keys), *rest))

    def __bool__(self) -> bool:
        assert not self.shape
        return bool(self.at[()])

    def __index__(self) -> int:
        return whole(self)

    def __pow__(self, exponent: int) -> Tile:
        """Of integers, which wrap."""
        return self.map(lambda v: num.wrap(v**exponent, self.dtype))

    def __add__(self, other: Any) -> Tile:
        return added(self, other, 1, 1)

    def __radd__(self, other: Any) -> Tile:
        return added(other, self, 1, 1)

    def __sub__(self, other: Any) -> Tile:
        return added(self, other, 1, -1)

    def __rsub__(self, other: Any) -> Tile:
        return added(other, self, 1, -1)

    def __mul__(self, other: Any) -> Tile:
        return multiplied(self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Tile:
        x, y, dtype, shape = meet(self, other)
        dtype = dtype if dtype.kind == "float" else F32
        x, y = x.astype(dtype), y.astype(dtype)
        return Tile(dtype, shape, {p: num.div(x.element(p), y.element(p), dtype) for p in positions(shape)})

    def __rtruediv__(self, other: Any) -> Tile:
        return typed(other, self.dtype) / self

    def __floordiv__(self, other: Any) -> Tile:
        return both(self, other, lambda a, b, dtype: (
            floor(num.div(a, b, dtype)) if dtype.kind == "float" else num.wrap(a // b, dtype)))

    def __mod__(self, other: Any) -> Tile:
        return both(self, other, lambda a, b, dtype: (
            num.modulo(a, b, dtype) if dtype.kind == "float" else num.wrap(a % b, dtype)))

    def __rfloordiv__(self, other: Any) -> Tile:
        return typed(other, common(other, self)) // self

    def __rmod__(self, other: Any) -> Tile:
        return typed(other, common(other, self)) % self

    def __and__(self, other: Any) -> Tile:
        return both(self, other, lambda a, b, dtype: a & b)

    def __or__(self, other: Any) -> Tile:
        return both(self, other, lambda a, b, dtype: a | b)

    def __xor__(self, other: Any) -> Tile:
        return both(self, other, lambda a, b, dtype: a ^ b)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __lshift__(self, other: Any) -> Tile:
        return both(self, other, lambda a, b, dtype: num.wrap(a << b, dtype))

    def __rshift__(self, other: Any) -> Tile:
        return both(self, other, lambda a, b, dtype: a >> b)

    def __lt__(self, other: Any) -> Tile:
        return both(self, other, lambda a, b, dtype: a < b, BOOL)

    def __le__(self, other: Any) -> Tile:
        return both(self, other, lambda a, b, dtype: a <= b, BOOL)

    def __gt__(self, other: Any) -> Tile:
        return both(self, other, lambda a, b, dtype: a > b, BOOL)

    def __ge__(self, other: Any) -> Tile:
        return both(self, other, lambda a, b, dtype: a >= b, BOOL)

    def __eq__(self, other: Any) -> Tile:  # type: ignore[override]
        return both(self, other, lambda a, b, dtype: a == b, BOOL)

    def __ne__(self, other: Any) -> Tile:  # type: ignore[override]
        return both(self, other, lambda a, b, dtype: a != b, BOOL)

    __hash__ = None

    def __neg__(self) -> Tile:
        return self.map(lambda v: -v if self.dtype.kind == "float" else num.wrap(-v, self.dtype))

    def __abs__(self) -> Tile:
        return self.map(lambda v: abs(v) if self.dtype.kind == "float" else num.wrap(abs(v), self.dtype))

    def __invert__(self) -> Tile:
        return self.map(lambda v: not v if self.dtype is BOOL else num.wrap(~v, self.dtype))


class Product(Tile):
    """A product of floats as an expression: a sum or difference like it that takes it rounds once."""

    def __init__(self, dtype: DType, shape: Shape, at: dict[Shape, Number], factors: tuple[Tile, Tile],
                 options: tuple[str, bool]) -> None:
        super().__init__(dtype, shape, at)
        self.factors, self.options = factors, options


def whole(value: Any) -> int:
    return int(value.at[()]) if isinstance(value, Tile) else int(value)


def scalar(dtype: DType, value: Number) -> Tile:
    return Tile(dtype, (), {(): num.convert(value, dtype)})


def typed(value: Any, dtype: DType) -> Tile:
    return value if isinstance(value, Tile) else scalar(dtype, value)


def own_dtype(value: Any) -> DType:
    """The dtype of a tile; of a number on its own, what it becomes."""
    if isinstance(value, Tile):
        return value.dtype
    if isinstance(value, bool):
        return BOOL
    return F32 if isinstance(value, float) else INT32 if INT32.low <= value <= INT32.high else INT64


RANK = {"bool": 0, "uint": 1, "int": 1, "float": 2}


def common(x: Any, y: Any) -> DType:
    """The dtype in which two operands meet."""
    a, b = own_dtype(x), own_dtype(y)
    if RANK[a.kind] != RANK[b.kind]:
        return a if RANK[a.kind] > RANK[b.kind] else b
    if not isinstance(x, Tile):
        return b
    if not isinstance(y, Tile) or a == b:
        return a
    assert a.kind == b.kind and a.bits != b.bits, (a, b)
    return a if a.bits > b.bits else b


def broadcast(a: Shape, b: Shape) -> Shape:
    rank = max(len(a), len(b))
    pairs = zip((1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b, strict=True)
    return tuple(max(m, n) for m, n in pairs)


def meet(x: Any, y: Any) -> tuple[Tile, Tile, DType, Shape]:
    """Both operands as tiles of their common dtype, that dtype, and the shape they broadcast to."""
    dtype = common(x, y)
    a, b = typed(x, dtype), typed(y, dtype)
    a, b = (v if v.dtype == dtype else v.astype(dtype) for v in (a, b))
    return a, b, dtype, broadcast(a.shape, b.shape)


def both(x: Any, y: Any, function: Callable[[Number, Number, DType], Number], result: DType | None = None) -> Tile:
    a, b, dtype, shape = meet(x, y)
    return Tile(result or dtype, shape, {p: function(a.element(p), b.element(p), dtype) for p in positions(shape)})


def multiplied(x: Any, y: Any, mode: str = "RN", ftz: bool = False) -> Tile:
    x, y, dtype, shape = meet(x, y)
    multiply = num.flushing(num.mul, ftz)
    values = {p: multiply(x.element(p), y.element(p), dtype, mode) for p in positions(shape)}
    return Product(dtype, shape, values, (x, y), (mode, ftz)) if dtype.kind == "float" else Tile(dtype, shape, values)


def added(x: Any, y: Any, first: int, second: int, mode: str = "RN", ftz: bool = False) -> Tile:
    """first * x + second * y, where a product of the same kind among the two is fused, the left one before the right
    one."""
    for product, other, sign, rest in ((x, y, first, second), (y, x, second, first)):
        c, _, dtype, shape = meet(other, product)
        own = isinstance(product, Product) and (product.dtype, product.shape, *product.options)
        if own == (dtype, shape, mode, ftz):
            (a, b), fma = product.factors, num.flushing(num.fma, ftz)
            return Tile(dtype, shape, {p: fma(sign * a.element(p), b.element(p), rest * c.element(p), dtype, mode)
                                       for p in positions(shape)})
    return both(x, y, lambda a, b, dtype: num.flushing(num.add, ftz)(first * a, second * b, dtype, mode))


def fold(x: Tile, axis: Any, combine: Callable[[Number, Number], Number], keepdims: bool = False) -> Tile:
    """Elements combined along an axis or several (None: all), in order."""
    rank = len(x.shape)
    axes = range(rank) if axis is None else [a % rank for a in (axis if isinstance(axis, tuple) else (axis,))]
    at: dict[Shape, Number] = {}
    for p in positions(x.shape):
        place = tuple(0 if k in axes else p[k] for k in range(rank))
        at[place] = combine(at[place], x.at[p]) if place in at else x.at[p]
    reduced = Tile(x.dtype, tuple(1 if k in axes else n for k, n in enumerate(x.shape)), at)
    return reduced if keepdims else reduced.reshape(tuple(x.shape[k] for k in range(rank) if k not in axes))


def floor(value: float, towards: Callable[[float], int] = math.floor) -> float:
    return math.copysign(float(towards(value)), value) if math.isfinite(value) else value
