"""The accesses of a function, and the part of an array that one of them touches in one block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilewright.interp.proving.places import extent_of
from tilewright.interp.proving.solver import Formula, z3
from tilewright.interp.proving.terms import Terms
from tilewright.tileir.core import Function, Op, Value
from tilewright.tileir.enums import MemoryOrder
from tilewright.tileir.ops.atomics import Atomic
from tilewright.tileir.ops.memory import Gather, Load, Scatter, Store, TileAccess
from tilewright.tileir.types import ArrayType


@dataclass(frozen=True, eq=False)
class MemoryUse:
    """One op that reads or writes an array: an access."""

    op: Any
    array: Value
    reads: bool
    writes: bool

    @property
    def of_tile(self) -> bool:
        return isinstance(self.op, TileAccess)

    @property
    def atomic(self) -> bool:
        """Whether it races with no other of its kind."""
        return isinstance(self.op, Atomic) or self._order is not MemoryOrder.WEAK

    @property
    def ordered(self) -> bool:
        """Whether blocks may wait for each other by it."""
        return self._order not in (MemoryOrder.WEAK, MemoryOrder.RELAXED)

    @property
    def _order(self) -> MemoryOrder:
        order: MemoryOrder = getattr(self.op, "memory_order", MemoryOrder.WEAK)
        return order

    @property
    def verb(self) -> str:
        return "updates" if isinstance(self.op, Atomic) else "writes" if self.writes else "reads"


def accesses(function: Function) -> list[MemoryUse]:
    out = []
    for op in function.walk():
        if isinstance(op, Load | Gather):
            out.append(MemoryUse(op, op.array, True, False))
        elif isinstance(op, Store | Scatter):
            out.append(MemoryUse(op, op.array, False, True))
        elif isinstance(op, Atomic):
            out.append(MemoryUse(op, op.array, True, True))
    return [a for a in out if isinstance(a.array.type, ArrayType)]


@dataclass(frozen=True)
class Part:
    """What an access touches. Along axis k of the array the elements first[k] up to first[k] + lengths[k], where
    `where` holds: the access is executed, and its mask is true. Of an access by elements it is one element of many."""

    first: tuple[Formula, ...]
    lengths: tuple[int, ...]
    extents: tuple[Formula, ...]
    where: tuple[Formula, ...]


def region(t: Terms, access: MemoryUse) -> Part:
    op = access.op
    where = t.reaches(op)
    extents = tuple(extent_of(t, access.array, axis) for axis in range(access.array.type.rank))
    if access.of_tile:
        first, lengths = _of_tile(t, op)
        return Part(first, lengths, extents, tuple(where))
    at = tuple(t.fresh(f"element{axis}", 0, n - 1) for axis, n in enumerate(op.shape))
    if op.mask is not None:
        where.append(t.at(op.mask, at))
    first = tuple(t.at(index, at) for index in op.indices)
    return Part(first, (1,) * len(first), extents, tuple(where))


def _of_tile(t: Terms, op: TileAccess) -> tuple[tuple[Formula, ...], tuple[int, ...]]:
    shape = op.tile.type.shape if op.tile.type.shape else (1,) * len(op.index)
    first: list[Formula] = [None] * len(op.index)
    lengths = [0] * len(op.index)
    for k, axis in enumerate(op.order):
        first[axis] = t.at(op.index[k]) * op.steps[k]
        lengths[axis] = shape[k]
    return tuple(first), tuple(lengths)


def inside(part: Part) -> Formula:
    """Whether the whole region lies in the array."""
    return z3().And(*(z3().And(low >= 0, low + n <= extent)
                      for low, n, extent in zip(part.first, part.lengths, part.extents, strict=True)))


def begins_inside(part: Part) -> Formula:
    """Whether the first element of a tile lies in the array: a tile may end beyond it, not begin there."""
    return z3().And(*(z3().And(low >= 0, low < extent)
                      for low, extent in zip(part.first, part.extents, strict=True)))


def has_check(op: Op) -> bool:
    return bool(getattr(op, "check_bounds", True))
