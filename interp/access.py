"""Tiles in arrays: where the tiles of a chunk lie, and reading and writing them through strided views.

All tiles of a chunk that lie inside the array are one view when their starts form an arithmetic progression, else one
indexed copy. Tiles that an edge cuts are grouped by what is left of them, and each group is such a view in turn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tilewright.interp.arrays import ArrayRef, ArrayRefs
from tilewright.interp.chunk import Chunk, take
from tilewright.interp.formats import Format
from tilewright.interp.memory import Region, Values

Box = tuple[slice, ...]  # a part of a tile, one slice an axis


class TileGrid:
    """The static part of a tile access: tile axis k is array axis order[k], tiles start at index[k] * steps[k].

    `views`: may a view of memory stand for the values of a tile?
    """

    __slots__ = ("order", "shape", "steps", "format", "views", "whole")

    def __init__(self, order: tuple[int, ...], shape: tuple[int, ...], steps: tuple[int, ...], format: Format,
                 views: bool = False) -> None:
        self.order = order
        self.shape = shape
        self.steps = steps
        self.format = format
        self.views = views
        self.whole: Box = tuple(slice(0, n) for n in shape)

    def starts(self, index: list[Any]) -> list[Any]:
        """First element along each tile axis: an int, or an int64 array over the chunk."""
        return [
            i.astype(np.int64) * s if isinstance(i, np.ndarray) and i.ndim else int(i) * s
            for i, s in zip(index, self.steps, strict=True)
        ]

    def view(self, ref: ArrayRef, index: Sequence[Any], chunk: Chunk, varies: bool) -> Any:
        """The memory of all tiles of a chunk as one view; None where an edge cuts one, or they lie at no equal steps.

        It costs a fraction of a `TileRegion`, which knows all other cases.
        """
        offset, step, strides = ref.offset, 0, ref.strides
        if isinstance(offset, np.ndarray):
            return None
        for place, by, length, axis in zip(index, self.steps, self.shape, self.order, strict=True):
            extent, stride = ref.extents[axis], strides[axis]
            if isinstance(place, np.ndarray) and place.ndim:
                found = chunk.progression(place)
                if found is None:
                    return None
                first, more = found[0] * by, found[1] * by
                last = first + more * (chunk.count - 1)
                step += more * stride
            else:
                first = last = int(place) * by
            if isinstance(extent, np.ndarray) or min(first, last) < 0 or max(first, last) + length > extent:
                return None
            offset += first * stride
        own = [strides[axis] for axis in self.order]
        if varies:
            return np.ndarray((chunk.count, *self.shape), ref.memory, ref.window, offset, (step, *own))
        return np.ndarray(self.shape, ref.memory, ref.window, offset, own)

    def inside(self, starts: Sequence[Any], ref: ArrayRef) -> bool:
        """Does every tile of the chunk lie inside the array?"""
        for start, length, axis in zip(starts, self.shape, self.order, strict=True):
            extent = ref.extents[axis]
            if isinstance(start, np.ndarray) and isinstance(extent, int):
                if start.min() < 0 or start.max() + length > extent:
                    return False
            elif not np.all((start >= 0) & (start + length <= extent)):
                return False
        return True

    def parts(self, starts: Sequence[Any], ref: ArrayRef) -> Iterator[tuple[Any, Box]]:
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


class TileRegion(Region):
    """Boxes of an array, one for each block (or one for all): the tile at `index`, as far as it lies inside."""

    __slots__ = ("grid", "padding", "_inside")
    kind = "tile"

    def __init__(self, grid: TileGrid, ref: ArrayRef, starts: list[Any], chunk: Chunk, blocks: Any, varies: bool,
                 padding: Any = None) -> None:
        super().__init__(ref, starts, chunk, blocks, varies)
        self.grid = grid
        self.padding = padding
        self._inside: bool | None = None

    @property
    def inside(self) -> bool:
        """Do all boxes lie inside the array?"""
        if self._inside is None:
            self._inside = self.grid.inside(self.index, self.array)
        return self._inside

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.count, *self.grid.shape) if self.varies else self.grid.shape

    @property
    def mask(self) -> Any:
        if self.inside:
            return None
        out = np.zeros(self.shape, np.bool_)
        for blocks, box in self.grid.parts(self.index, self.array):
            out[self._within(blocks, box)] = True
        return out

    def offsets(self) -> Any:
        rank = len(self.grid.shape)
        out: Any = over_tile(self.array.offset, rank)
        for k, (start, length, axis) in enumerate(zip(self.index, self.grid.shape, self.grid.order, strict=True)):
            along = np.arange(length, dtype=np.int64).reshape(length, *(1,) * (rank - 1 - k))
            out = out + (over_tile(start, rank) + along) * self.array.strides[axis]
        return np.broadcast_to(np.asarray(out, np.int64), self.shape)

    def read(self) -> Values:
        grid, out = self.grid, None
        for blocks, box in grid.parts(self.index, self.array):
            boxes = self._boxes(blocks, box)
            tiles = grid.format.decode(boxes.view if boxes.rows is None else boxes.view[boxes.rows])
            if blocks is None and box == grid.whole:
                return tiles if grid.views or not grid.format.plain else tiles.copy()
            if out is None:
                out = np.full(self.shape, self.padding, grid.format.held)
            out[self._within(blocks, box)] = tiles
        return np.full(self.shape, self.padding, grid.format.held) if out is None else out

    def write(self, values: Values) -> None:
        grid, encode = self.grid, self.grid.format.encode
        batched = np.ndim(values) > len(grid.shape)
        for blocks, box in grid.parts(self.index, self.array):
            part = values
            if box != grid.whole or blocks is not None:
                part = values[(slice(None) if blocks is None else blocks, *box) if batched else box]
            boxes = self._boxes(blocks, box)
            if boxes.rows is None:
                boxes.view[...] = encode(part)
            else:
                boxes.view[boxes.rows] = encode(part)

    def _within(self, blocks: Any, box: Box) -> Any:
        """The index of a group of boxes in the values."""
        return box if not self.varies else (slice(None) if blocks is None else blocks, *box)

    def _boxes(self, blocks: Any, box: Box) -> Boxes:
        """The memory of one group of `TileGrid.parts`."""
        ref = self.array
        offsets = ref.offset if blocks is None or not isinstance(ref.offset, np.ndarray) else ref.offset[blocks]
        strides = tuple(ref.strides[axis] for axis in self.grid.order)
        for start, part, stride in zip(self.index, box, strides, strict=True):
            if blocks is not None and isinstance(start, np.ndarray):
                start = start[blocks]
            offsets = offsets + (start + part.start) * stride
        if self.varies and not isinstance(offsets, np.ndarray):
            offsets = np.full(self.count if blocks is None else len(blocks), offsets, np.int64)
        return Boxes(ref, offsets, tuple(s.stop - s.start for s in box), strides)


class Boxes:
    """The memory of equal boxes, one for each block (or one for all: no leading axis), as a view: of all of them, or of
    more, of which they are the `rows`."""

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


def over_tile(value: Any, rank: int) -> Any:
    """A number of each block as an array that stands over the tile's axes."""
    return value.reshape(-1, *(1,) * rank) if isinstance(value, np.ndarray) else value


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
