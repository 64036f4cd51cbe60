"""The elements of each array that a kernel accesses: as often as it does, and each one once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.estimating.boxes import distinct, union, volumes
from tilewright.estimating.names import SECTOR
from tilewright.interp.access import over_tile
from tilewright.interp.arrays import ArrayRef
from tilewright.tileir.core import Op

if TYPE_CHECKING:
    from tilewright.estimating.counting import Accessing

# Above so many elements no array is marked element by element: what is unique is then known as an interval.
MAX_MARKS = 1 << 28
MAX_SINGLE = 1 << 26  # of single accesses that are looked at one by one
MAX_PAINTED = 1 << 14  # boxes that are painted to find their sectors
MAX_ROWS = 1 << 20  # of boxes that are kept before equal ones become one


@dataclass
class Accesses:
    """The reads, or the writes, of one array, in elements. `boxes`: int64 arrays [boxes, 2, axes] of the first and one
    past the last element of each; `marks`: elements accessed singly; `loose`: how many accesses are neither."""

    requested: int = 0
    boxes: list[Any] = field(default_factory=list)
    marks: Any = None
    loose: int = 0
    spent: int = 0
    _unique: tuple[int, int] | None = None

    def add(self, low: Any, high: Any, times: int) -> None:
        inside = volumes(low, high)
        self.requested += int(inside.sum()) * times
        self.boxes.append(np.stack([low, high], axis=1)[inside > 0])
        if sum(map(len, self.boxes)) > MAX_ROWS:
            self.boxes = [distinct(np.concatenate(self.boxes))]

    def full(self, more: int, root: ArrayRef) -> bool:
        """Whether so many more single accesses are not to be looked at one by one; else they are taken into account."""
        self.spent += more
        return self.spent > MAX_SINGLE or root.window.size // root.memory.itemsize > MAX_MARKS

    def mark(self, places: Any, root: ArrayRef) -> None:
        """Single accesses, by the numbers of the elements from the start of the array's memory."""
        if self.marks is None:
            self.marks = np.zeros(root.window.size // root.memory.itemsize, np.bool_)
        self.marks[places] = True

    def unique(self, root: ArrayRef) -> tuple[int, int]:
        """How many different elements: at least, and at most. Asked when all accesses are there."""
        if self._unique is None:
            self._unique = self._counted(root)
        return self._unique

    def _counted(self, root: ArrayRef) -> tuple[int, int]:
        boxes = np.concatenate(self.boxes) if self.boxes else np.zeros((0, 2, len(root.extents)), np.int64)
        boxes = distinct(boxes)
        size = int(np.prod(root.extents)) if root.extents else 1
        if self.marks is None:
            least, most = union(boxes[:, 0], boxes[:, 1])
            return (least, most) if not self.loose else (max(least, 1), min(size, most + self.loose))
        item = root.memory.itemsize
        view = np.ndarray(root.extents, np.bool_, self.marks, root.offset // item, [s // item for s in root.strides])
        for low, high in boxes:
            view[tuple(slice(a, b) for a, b in zip(low, high, strict=True))] = True
        found = int(np.count_nonzero(self.marks))
        return found, min(size, found + self.loose)

    def sectors(self, root: ArrayRef) -> tuple[int, int]:
        """How many different sectors of 32 bytes: at least, and at most."""
        item = root.memory.itemsize
        least, most = self.unique(root)
        start = int(root.window.__array_interface__["data"][0]) % SECTOR
        if least == most and least * item == root.window.size and least:
            return (-(-(start + root.window.size) // SECTOR),) * 2
        size = int(np.prod(root.extents))
        all_of_it = np.stack([np.zeros(len(root.extents), np.int64), np.array(root.extents, np.int64)])[None]
        boxes = all_of_it if least == size else distinct(np.concatenate(self.boxes)) if self.boxes else []
        paints = root.window.size // item <= MAX_MARKS and len(boxes) <= MAX_PAINTED and start % item == 0
        if least < most or not paints:
            return -(-least * item // SECTOR), most * -(-item // SECTOR)
        touched = np.zeros(-(-(start + root.window.size) // SECTOR) * (SECTOR // item), np.bool_)
        inside = touched[start // item :]
        if self.marks is not None:
            inside[: len(self.marks)] = self.marks
        view = np.ndarray(root.extents, np.bool_, inside, root.offset // item, [s // item for s in root.strides])
        for low, high in boxes:
            view[tuple(slice(a, b) for a, b in zip(low, high, strict=True))] = True
        return (int(np.count_nonzero(touched.reshape(-1, SECTOR // item).any(axis=1))),) * 2


class Traffic:
    """Watches the accesses of a counting run. `arrays`: those of the launch by the names of their parameters."""

    def __init__(self) -> None:
        self.arrays: dict[str, ArrayRef] = {}
        self.reads: dict[str, Accesses] = {}
        self.writes: dict[str, Accesses] = {}

    def bound(self, values: Sequence[Any]) -> None:
        """The arguments of the launch."""
        for value in values:
            for ref in value if isinstance(value, list) else [value]:
                if isinstance(ref, ArrayRef):
                    self.arrays[ref.name] = ref

    def tile(self, op: Op, ref: ArrayRef, starts: list[Any], blocks: Accessing) -> None:
        count = blocks.count
        root = self.arrays[ref.name]
        found = _origin(ref, root)
        shape, order = tile_shape(op), op.order  # type: ignore[attr-defined]
        varies = any(s.ndim for s in starts) or ref.varies
        rows = count if varies else 1
        low, high = (np.zeros((rows, len(ref.extents)), np.int64) for _ in range(2))
        for start, length, axis in zip(starts, shape, order, strict=True):
            low[:, axis] = np.maximum(start, 0)
            high[:, axis] = np.minimum(start + length, ref.extents[axis])
        times = 1 if varies else count
        for accesses in self._of(op, ref.name):
            if found is None:
                accesses.requested += int(volumes(low, high).sum()) * times
                accesses.loose += int(volumes(low, high).sum())
                continue
            origin = np.stack(np.broadcast_arrays(*found, np.zeros(rows))[:-1], axis=1) if found else 0
            accesses.add(low + origin, high + origin, times)

    def elements(self, op: Op, ref: ArrayRef, indices: list[Any], mask: Any, blocks: Accessing) -> None:
        count = blocks.count
        root, size, rank = self.arrays[ref.name], int(np.prod(op.shape)), len(op.shape)  # type: ignore[attr-defined]
        valid: Any = np.asarray(True) if mask is None else np.asarray(mask)
        for index, extent in zip(indices, ref.extents, strict=True):
            along = np.asarray(index, np.int64)
            inside = (along >= 0) & (along < over_tile(extent, rank))
            if not inside.all():
                valid = valid & inside
        # Each stands for as many elements as it is broadcast to.
        number = int(np.count_nonzero(valid)) * (count * size // valid.size)
        for accesses in self._of(op, ref.name):
            accesses.requested += number
            if accesses.full(number, root):
                accesses.loose += number
                continue
            places: Any = over_tile(ref.offset, rank)
            for index, stride in zip(indices, ref.strides, strict=True):
                places = places + np.asarray(index, np.int64) * stride
            places, wanted = np.broadcast_arrays(places, valid)
            accesses.mark(places[wanted] // root.memory.itemsize, root)

    def _of(self, op: Op, name: str) -> list[Accesses]:
        """Where an op's accesses of an array are counted."""
        effects = op.effects()
        found = [table for table, handles in ((self.reads, effects.reads), (self.writes, effects.writes))
                 if op.array in handles]  # type: ignore[attr-defined]
        return [table.setdefault(name, Accesses()) for table in found]


def tile_shape(op: Any) -> tuple[int, ...]:
    """The shape of the tile that an op reads or writes at an index."""
    for name in ("shape", "tile"):
        found = getattr(op, name, None)
        if found is not None:
            return tuple(found if name == "shape" else getattr(found, "type", found).shape)
    raise AssertionError(f"{op.opcode} has no tile")


def _origin(ref: ArrayRef, root: ArrayRef) -> list[Any] | None:
    """Where a view begins in its array, along each axis; None for a view with other strides."""
    if ref.strides != root.strides or any(s <= 0 for s in root.strides):
        return [np.int64(0)] * len(root.extents) if ref is root else None
    rest: Any = np.asarray(ref.offset - root.offset, np.int64)
    out: list[Any] = [np.int64(0)] * len(root.strides)
    for axis in sorted(range(len(root.strides)), key=lambda a: -root.strides[a]):
        if root.extents[axis] > 1:
            out[axis], rest = np.divmod(rest, root.strides[axis])
    return out
