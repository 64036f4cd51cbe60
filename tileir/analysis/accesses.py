"""How threads access a tile in memory: how many elements at once, and what an edge or a mask may cut.

Lowering emits what these say, and estimates count it. Tile axis k is array axis order[k]. `most`: bytes of the widest
access that the machine has.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.tileir.analysis.facts import Facts
from tilewright.tileir.analysis.neighbours import GatherRun, aligned, gather_run
from tilewright.tileir.analysis.runs import Runs
from tilewright.tileir.core import Value
from tilewright.tileir.layout import Layout
from tilewright.tileir.layouts.queries import vector_along
from tilewright.tileir.types import ArrayType


class TileWidths:
    """Of a load, store or asynchronous load of a tile in a layout: `vector` elements along tile axis `vector_axis` are
    one access (-1: single elements)."""

    def __init__(self, op: Any, array: ArrayType, layout: Layout, known: Facts, most: int) -> None:
        self.array, self.layout, self.known = array, layout, known
        self.shape = layout.shape
        self.steps: tuple[int, ...] = op.steps
        self.order: tuple[int, ...] = op.order
        self.index: tuple[Value, ...] = op.index
        self.check_bounds: bool = op.check_bounds
        self.vector_axis, self.vector = self._choose_vector(most)

    def _choose_vector(self, most: int) -> tuple[int, int]:
        """(axis, elements) of one access: consecutive in memory and in registers, aligned; (-1, 1) if none are."""
        best = (-1, 1)
        for axis in range(len(self.shape)):
            if self.stride(axis) == 1:
                width = min(vector_along(self.layout, axis), most // self.array.dtype.bytes)
                width = aligned(self.array, self.order[axis], width, self.origin_divisor(axis))
                if width > best[1]:
                    best = (axis, width)
        return best

    def stride(self, axis: int) -> int | None:
        """Of a tile axis, in elements; None where only the launch knows it."""
        return self.array.strides[self.order[axis]]

    def extent_divisor(self, axis: int) -> int:
        """A number that divides the extent (0 if the extent is 0)."""
        known = self.array.extents[self.order[axis]]
        return known if known is not None else self.array.extent_div[self.order[axis]]

    def origin_divisor(self, axis: int) -> int:
        """A number that divides the tile's first index (0 if that is 0)."""
        return self.known[self.index[axis]].divisor * self.steps[axis]

    def kind(self, axis: int) -> str:
        """What the edge may cut along an axis: "nothing", "tiles" (all or none), "vectors" (whole accesses), "any"."""
        if not self.check_bounds:
            return "nothing"
        shape, divisor = self.shape[axis], self.extent_divisor(axis)
        if self._surely_inside(axis):
            return "nothing"
        if divisor % shape == 0 and self.origin_divisor(axis) % shape == 0:
            return "tiles"
        if axis != self.vector_axis or divisor % self.vector == 0:
            return "vectors"
        return "any"

    def _surely_inside(self, axis: int) -> bool:
        known = self.array.extents[self.order[axis]]
        index = self.known[self.index[axis]]
        step = self.steps[axis]
        return known is not None and index.low >= 0 and index.high * step + self.shape[axis] <= known

    @property
    def cuts_vectors(self) -> bool:
        """Whether an edge may fall inside an access of `vector` elements."""
        return any(self.kind(axis) == "any" for axis in range(len(self.shape)))

    @property
    def is_cut(self) -> bool:
        """Whether some of the tile may lie outside of the array."""
        return any(self.kind(axis) != "nothing" for axis in range(len(self.shape)))


class ElementChecks:
    """Of a gather, scatter or atomic operation: which indices may lie outside of the array."""

    def __init__(self, op: Any, array: ArrayType, known: Facts) -> None:
        self.op, self.array, self.known = op, array, known

    def checks(self, axis: int) -> bool:
        """Whether an index may be outside the array."""
        extent, index = self.array.extents[axis], self.known[self.op.indices[axis]]
        return self.op.check_bounds and not (extent is not None and index.within(0, extent - 1))

    def may_end(self, axis: int, count: int) -> bool:
        """Whether the array may end, along an axis, inside `count` elements that start at a multiple of it."""
        known = self.array.extents[axis]
        return self.checks(axis) and (self.array.extent_div[axis] if known is None else known) % count != 0


class GatherWidths(ElementChecks):
    """Of a gather or scatter whose index tiles have a layout: one access is `vector` elements along `axis` of the index
    tiles, which is axis `dense` of the array (both -1: nothing lies side by side)."""

    def __init__(
        self, op: Any, array: ArrayType, layout: Layout | None, known: Facts, counted: Runs, most: int,
    ) -> None:
        super().__init__(op, array, known)
        self.layout, self.counted = layout, counted
        self.axis, (self.vector, self.dense) = self._choose(most)

    def _choose(self, most: int) -> tuple[int, GatherRun]:
        best = (-1, GatherRun(1, -1))
        indices = tuple(self.counted[i] for i in self.op.indices)
        for axis in range(len(self.op.shape)):
            found = gather_run(self.array, indices, axis, most)
            count = min(found.length, vector_along(self.layout, axis)) if self.layout is not None else 1
            if count > best[1].length:
                best = (axis, GatherRun(count, found.dense))
        return best

    @property
    def cut(self) -> Sequence[int]:
        """Elements of an access, counted from its first, whose predicates may differ from that of the first."""
        mask = self.op.mask
        if self.vector == 1:
            return ()
        if mask is not None and self.counted[mask][self.axis].stays < self.vector:
            return range(1, self.vector)
        # What is inside at both ends is inside between.
        return (self.vector - 1,) if self.may_end(self.dense, self.vector) else ()
