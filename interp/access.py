"""Tiles in memory: where the tiles of a chunk lie, and reading and writing them through strided views.

All tiles of a chunk that lie inside the array are one view when their starts form an arithmetic progression, else one
indexed copy. Tiles that an edge cuts are grouped by what is left of them, and each group is such a view in turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tilewright.interp.arrays import ArrayRef, ArrayRefs
from tilewright.interp.chunk import take

Box = tuple[slice, ...]  # a part of a tile, one slice an axis


class TileGrid:
    """The static part of a tile access: tile axis k is array axis order[k], tiles start at index[k] * steps[k]."""

    __slots__ = ("order", "shape", "steps", "whole")

    def __init__(self, order: tuple[int, ...], shape: tuple[int, ...], steps: tuple[int, ...]) -> None:
        self.order = order
        self.shape = shape
        self.steps = steps
        self.whole: Box = tuple(slice(0, n) for n in shape)

    def starts(self, index: list[Any]) -> list[Any]:
        """First element along each tile axis: an int, or an int64 array over the chunk."""
        return [
            i.astype(np.int64) * s if isinstance(i, np.ndarray) and i.ndim else int(i) * s
            for i, s in zip(index, self.steps, strict=True)
        ]

    def inside(self, starts: list[Any], ref: ArrayRef) -> bool:
        """Does every tile of the chunk lie inside the array?"""
        for start, length, axis in zip(starts, self.shape, self.order, strict=True):
            extent = ref.extents[axis]
            if isinstance(start, np.ndarray) and isinstance(extent, int):
                if start.min() < 0 or start.max() + length > extent:
                    return False
            elif not np.all((start >= 0) & (start + length <= extent)):
                return False
        return True

    def parts(self, starts: list[Any], ref: ArrayRef) -> Iterator[tuple[Any, Box]]:
        """Groups of blocks (None: all of them) with the part of their tiles that lies inside; empty parts left out."""
        if self.inside(starts, ref):
            yield None, self.whole
            return
        lows, highs = [], []
        for start, length, axis in zip(starts, self.shape, self.order, strict=True):
            extent = ref.extents[axis]
            lows.append(_clip(-start, length))
            highs.append(_clip(extent - start, length))
        key: Any = np.int64(0)
        for low, high, length in zip(lows, highs, self.shape, strict=True):
            key = (key * (length + 1) + low) * (length + 1) + high
        same = np.ndim(key) == 0 or (key == key[0]).all()
        groups = [None] if same else [np.flatnonzero(key == k) for k in np.unique(key)]
        for blocks in groups:
            first = 0 if blocks is None else int(blocks[0])
            box = tuple(slice(_at(low, first), _at(high, first)) for low, high in zip(lows, highs, strict=True))
            if all(s.start < s.stop for s in box):
                yield blocks, box


def _clip(value: Any, length: int) -> Any:
    """value limited to 0..length."""
    return np.minimum(np.maximum(value, 0), length) if isinstance(value, np.ndarray) else min(max(value, 0), length)


def _at(value: Any, block: int) -> int:
    return int(value[block]) if isinstance(value, np.ndarray) and value.ndim else int(value)


class Region:
    """The memory of equal boxes, one for each block (or one for all: no leading axis)."""

    __slots__ = ("view", "rows")

    def __init__(self, ref: ArrayRef, offsets: Any, shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
        self.rows: Any = None
        if not isinstance(offsets, np.ndarray):
            self.view = ref.view(int(offsets), shape, strides)
            return
        count = len(offsets)
        first = int(offsets[0])
        step = int(offsets[1]) - first if count > 1 else 0
        if count < 3 or (np.diff(offsets) == step).all():
            self.view = ref.view(first, (count, *shape), (step, *strides))
            return
        low = int(offsets.min())
        positions = (int(offsets.max()) - low) // ref.unit + 1
        self.view = ref.view(low, (positions, *shape), (ref.unit, *strides))
        self.rows = (offsets - low) // ref.unit

    def read(self) -> Any:
        """The elements: a view of memory where possible."""
        return self.view if self.rows is None else self.view[self.rows]

    def write(self, values: Any) -> None:
        if self.rows is None:
            self.view[...] = values
        else:
            self.view[self.rows] = values


def region(grid: TileGrid, ref: ArrayRef, starts: list[Any], blocks: Any, box: Box, count: int | None) -> Region:
    """The memory of one group of `TileGrid.parts`. `count` is the number of blocks of the whole chunk, or None for a
    place that all of them share (then the region has no leading axis)."""
    offsets = ref.offset if blocks is None or not isinstance(ref.offset, np.ndarray) else ref.offset[blocks]
    strides = tuple(ref.strides[axis] for axis in grid.order)
    for start, part, stride in zip(starts, box, strides, strict=True):
        if blocks is not None and isinstance(start, np.ndarray):
            start = start[blocks]
        offsets = offsets + (start + part.start) * stride
    if count is not None and not isinstance(offsets, np.ndarray):
        offsets = np.full(count if blocks is None else len(blocks), offsets, np.int64)
    return Region(ref, offsets, tuple(s.stop - s.start for s in box), strides)


def each_array(
    ref: ArrayRef | ArrayRefs, operands: list[Any], varying: list[bool]
) -> Iterator[tuple[ArrayRef, Any, list[Any]]]:
    """The arrays behind a value, each with its blocks (None: all of the chunk) and the operands of those blocks."""
    if isinstance(ref, ArrayRef):
        yield ref, None, operands
        return
    for one, blocks in ref.groups:
        if len(ref.groups) == 1 and np.array_equal(blocks, np.arange(ref.count)):
            yield one, None, operands
        else:
            yield one, blocks, [take(v, blocks) if varies else v for v, varies in zip(operands, varying, strict=True)]
