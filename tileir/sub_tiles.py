"""Sub-tiles of a tile: what they are made of, and where they lie in an array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tilewright.tileir.analysis.recomputation import is_widening
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Value
from tilewright.tileir.dtypes import int64
from tilewright.tileir.layouts import transform
from tilewright.tileir.layouts.flat import log2
from tilewright.tileir.ops.arith import Add, Mul
from tilewright.tileir.ops.convert import Cast
from tilewright.tileir.ops.memory import TileAccess
from tilewright.tileir.ops.shape import Broadcast, Cat, Reshape


class SubTile(NamedTuple):
    """A sub-tile of a value that a tile is made of: its shape, and the axis of the tile along which each of its axes
    lies, None for one of length 1."""

    value: Value
    shape: tuple[int, ...]
    axes: tuple[int | None, ...]

    @property
    def source(self) -> SubTile | None:
        """The part of an op's source of which this one is a copy, repeated or widened; None for other ops."""
        value, shape, axes = self
        op, whole = value.op, value.type.shape
        if isinstance(op, Broadcast) and op.src.type.shape:
            long = [n > 1 for n in op.src.type.shape]
            return SubTile(op.src, tuple(n if is_long else 1 for n, is_long in zip(shape, long, strict=True)),
                        tuple(axis if is_long else None for axis, is_long in zip(axes, long, strict=True)))
        if isinstance(op, Reshape) and [n for n in whole if n > 1] == list(op.src.type.shape):
            kept = [axis for axis, n in enumerate(whole) if n > 1]
            return SubTile(op.src, tuple(shape[axis] for axis in kept), tuple(axes[axis] for axis in kept))
        return SubTile(op.src, shape, axes) if isinstance(op, Cast) and is_widening(op) else None

    def origin(self, unit: Unit) -> SubTile:
        """The first value behind this part that nothing else needs."""
        part = self
        while (source := part.source) is not None and len(unit.uses[source.value]) == 1:
            part = source
        return part


class SubTilePlaces:
    """Where the sub-tiles of the tile that an access moves lie in the array. Indices have 64 bits: tiles far outside
    the array must stay outside."""

    def __init__(self, b: Builder, access: TileAccess, shape: tuple[int, ...]) -> None:
        self.counts = [n // m for n, m in zip(access.steps, shape, strict=True)]
        self.first = [self._scaled(b, i, count) for i, count in zip(access.index, self.counts, strict=True)]

    def index(self, b: Builder, place: tuple[int, ...]) -> tuple[Value, ...]:
        """The tile coordinates of a sub-tile, in steps of its shape."""
        return tuple(first if not number else b.value(Add(lhs=first, rhs=b.number(number, int64)))
                     for first, number in zip(self.first, place, strict=True))

    @staticmethod
    def _scaled(b: Builder, index: Value, count: int) -> Value:
        if count == 1:
            return index
        return b.value(Mul(lhs=b.cast(index, int64), rhs=b.number(count, int64)))


def joined(b: Builder, parts: Sequence[Value], counts: Sequence[int]) -> Value:
    """The tile of which these are the parts, so many (powers of two) along each axis, the last axis fastest."""
    for axis in reversed(range(len(counts))):
        for _ in range(log2(counts[axis])):
            parts = [b.value(Cat(lhs=low, rhs=high, axis=axis)).lay_out(transform.cat(low.type.layout, axis))
                     for low, high in zip(parts[::2], parts[1::2], strict=True)]
    [whole] = parts
    return whole
