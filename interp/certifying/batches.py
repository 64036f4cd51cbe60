"""The rows of arrays: every store to one must keep them apart, and those to written arrays that it reads, too."""

from __future__ import annotations

from typing import Any

from tilewright.interp.certifying.certificate import Batch, Judgement, Tree
from tilewright.interp.certifying.kinds import Mixed
from tilewright.interp.certifying.rows import RowSlice
from tilewright.interp.certifying.slices import Code
from tilewright.tileir.core import Value
from tilewright.tileir.ops.arith import Constant
from tilewright.tileir.ops.atomics import Atomic

HOLDS = Judgement(True)


class Batches:
    """The judgements of one function, by array and axis."""

    def __init__(self, code: Code) -> None:
        self.code = code
        self._known: dict[tuple[Value, int], Judgement] = {}
        self._slices: dict[tuple[Value, int], list[RowSlice]] = {}

    def along(self, memory: Value, axis: int) -> Judgement:
        """Whether the elements of an array along an axis are independent of each other. Arrays that are computed from
        each other are judged together."""
        key = memory, axis
        if key not in self._known:
            self._known[key] = Judgement(True)
            try:
                self._follow(memory, axis)
            except Mixed as mixed:
                self._known.clear()  # others may have taken it for granted on the way
                self._known[key] = Judgement(False, mixed.reason, mixed.span)
        return self._known[key]

    def _follow(self, memory: Value, axis: int) -> None:
        stores = [use.op for use in self.code.of(memory) if use.writes]
        first: Any = None
        found: list[RowSlice] = []
        for op in stores:
            if isinstance(op, Atomic):
                raise Mixed("atomic operations combine what several blocks give", op.span)
            slice_ = RowSlice(self.code, op, axis)
            first = first or slice_.place
            if slice_.place[:2] != first[:2] or slice_.place.length != first.length:
                raise Mixed("several stores write rows that are numbered in different ways", op.span)
            slice_.follow()
            found.append(slice_)
        self._slices[memory, axis] = found
        for array, own in {a: own for slice_ in found for a, own in slice_.rows.items()}.items():
            other = self.code.memory(array)
            below = self.along(other, own) if other in self.code.written else HOLDS
            if not below.holds:
                raise Mixed(f"rows of {array.hint}: {below.reason}", below.place)
        self._roles(memory, axis)

    def _behind(self, memory: Value, axis: int) -> dict[tuple[Value, int], list[RowSlice]]:
        """The slices of an array, and of the written arrays that these read row by row."""
        out: dict[tuple[Value, int], list[RowSlice]] = {}
        waiting = [(memory, axis)]
        while waiting:
            key = waiting.pop()
            if key not in out and key in self._slices:
                out[key] = self._slices[key]
                waiting += [(self.code.memory(a), own) for s in out[key] for a, own in s.rows.items()]
        return out

    def _roles(self, memory: Value, axis: int) -> tuple[dict[Value, int], list[Value]]:
        """The arrays that are read row by row, each with its axis, and those that all rows read; Mixed where one is
        both, or where the number of rows enters."""
        behind = self._behind(memory, axis)
        rows = {written: own for written, own in behind}
        slices = [one for several in behind.values() for one in several]
        for array, own in ((array, own) for one in slices for array, own in one.rows.items()):
            if rows.setdefault(array, own) != own:
                raise Mixed(f"rows of {array.hint} are read along two axes", slices[0].store.span)
        for one in slices:
            for array, span in one.shared.items():
                if self.code.memory(array) in self.code.written and array not in rows:
                    raise Mixed(f"all of {array.hint}, which the kernel writes, is read", span)
                if array in rows:
                    raise Mixed(f"other rows of {array.hint} are read, too", span)
            for (array, own), span in one.extents.items():
                if rows.get(array) == own:
                    raise Mixed("how many rows there are enters the value", span)
        return {a: own for one in slices for a, own in one.rows.items()}, [a for one in slices for a in one.shared]

    def batch(self, memory: Value, rank: int, order: Judgement, trees: tuple[Tree, ...]) -> Batch:
        """Of an array of so many axes."""
        if not order.holds:
            return Batch(False, order.reason, order.place, tile_size=order)
        along = {axis: self.along(memory, axis) for axis in range(rank)}
        axes = tuple(axis for axis, one in along.items() if one.holds)
        roles = {axis: self._roles(memory, axis) for axis in axes}
        rows = {axis: {a.hint: own for a, own in roles[axis][0].items()} for axis in axes}
        shared = {axis: tuple(dict.fromkeys(a.hint for a in roles[axis][1])) for axis in axes}
        first = next(iter(along.values()), Judgement(False, "an array without axes has no rows"))
        return Batch(bool(axes), "" if axes else first.reason, first.place, axes=axes, along=along, rows=rows,
                     shared=shared, tile_size=self._tile_size(memory, axes, trees))

    def _tile_size(self, memory: Value, axes: tuple[int, ...], trees: tuple[Tree, ...]) -> Judgement:
        """Whether tiles of another length along the rows would give the same bits."""
        slices = [one for axis in axes for one in self._slices[memory, axis]]
        if not slices:
            return Judgement(False)
        if all(one.place.length == 1 for one in slices):
            return Judgement(True, "rows are written one by one")
        for tree in trees:
            if not tree.fixed:
                return Judgement(False, "the order of combination follows from the tile's shape", tree.place)
        for one in slices:
            for op in one.visited:
                if isinstance(op, Constant) and one.place.length > 1 and _is_length(op.value, one.place.length):
                    return Judgement(False, f"{op.value}, which is the tile's length, enters the value", op.span)
        return Judgement(True, assuming=("lengths of tiles enter no value",))


def _is_length(value: Any, length: int) -> bool:
    return float(value) in (float(length), 1 / length)
