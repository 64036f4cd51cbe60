"""The map of each array: which block reads and writes which part, and how often each element is read.

A kernel's skeleton runs in the interpreter, on a memory that notes every access and performs those that decide where
others go. Arrays are shown as pictures of at most CELLS x CELLS cells. Of each cell are known the mean number of times
that an element of it is read or written, exactly, and the blocks that touch it.
"""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewright.inspecting.explorer.places import Numbering, chain_of
from tilewright.inspecting.explorer.skeleton import Skeleton
from tilewright.interp.access import TileRegion
from tilewright.interp.blas import one_thread
from tilewright.interp.hazards import Hazards
from tilewright.interp.memory import Change, Memory, Region, Values
from tilewright.interp.options import ExecutionOptions
from tilewright.interp.program import Program
from tilewright.tileir.core import Function, Op

CELLS = 64
LINE = CELLS * CELLS  # cells of an array of one axis
WORD = 64  # bits
# The blocks whose own parts can be shown, and the most gathered elements and accesses that are noted before the run
# is ended.
KEPT = 4096
WORK = 1 << 27
REGIONS = 40_000

READ, WRITE = 0, 1
FREE = Hazards(False, None, frozenset(), frozenset(), frozenset())


class Enough(BaseException):
    """Ends a run that has seen enough: no exception of a kernel, which the interpreter would explain."""


class ArrayMap:
    """What was seen of one array. Its axes are the rows and columns of the picture: those before `split`, and the
    others. `sizes`: elements that a cell spans along rows and columns."""

    def __init__(self, name: str, array: np.ndarray[Any, Any], blocks: int) -> None:
        self.name, self.array = name, array
        self.split = _split(array.shape)
        groups = array.shape[: self.split], array.shape[self.split :]
        self.extents = [math.prod(group) for group in groups]
        most = (CELLS, CELLS) if self.split else (1, LINE)
        self.sizes = [_power(-(-n // m)) for n, m in zip(self.extents, most, strict=True)]
        self.cells = [max(-(-n // size), 1) for n, size in zip(self.extents, self.sizes, strict=True)]
        self.times = [np.zeros(self.cells), np.zeros(self.cells)]
        # A bit for each cell: those of a row stand in words side by side.
        words = (min(blocks, KEPT), self.cells[0], -(-self.cells[1] // WORD))
        self.touched = [np.zeros(words, np.uint64) for _ in (READ, WRITE)]
        self.elements = [0, 0]

    def boxes(self, how: Sequence[int], blocks: Any, low: Any, high: Any) -> None:
        """Each of `blocks` accesses the elements from low[axis] up to high[axis]: arrays [blocks, rank]."""
        inside = (high > low).all(axis=1)
        blocks, low, high = blocks[inside], low[inside], high[inside]
        counts = [self._along(side, low, high) for side in (0, 1)]
        times = counts[0].T @ counts[1]
        number = int((high - low).prod(axis=1).sum())
        own = blocks < len(self.touched[0])
        rows, columns = (count[own] > 0 for count in counts)
        bits = np.zeros((len(columns), self.touched[0].shape[2] * WORD), np.bool_)
        bits[:, : columns.shape[1]] = columns
        words = np.packbits(bits, axis=1, bitorder="little").view(np.uint64)
        both = np.where(rows[:, :, None], words[:, None, :], np.uint64(0))
        for kind in how:
            self.times[kind] += times
            self.elements[kind] += number
            self.touched[kind][blocks[own]] |= both  # a region has each block once

    def _along(self, side: int, low: Any, high: Any) -> Any:
        """How many positions along rows or columns each box has in each cell: [blocks, cells]."""
        axes = range(self.split) if side == 0 else range(self.split, self.array.ndim)
        starts, lengths = np.zeros((len(low), 1), np.int64), np.ones((len(low), 1), np.int64)
        for number, axis in enumerate(axes):
            n = self.array.shape[axis]
            if number == len(axes) - 1:
                starts, lengths = starts * n + low[:, axis, None], (high - low)[:, axis, None] * (lengths > 0)
                continue
            most = int((high - low)[:, axis].max(initial=0))
            steps = np.arange(most)
            here = low[:, axis, None] + steps
            there = steps < (high - low)[:, axis, None]
            starts = (starts[:, :, None] * n + here[:, None, :]).reshape(len(low), -1)
            lengths = (lengths[:, :, None] * there[:, None, :]).reshape(len(low), -1)
        edges = np.arange(self.cells[side] + 1) * self.sizes[side]
        out = np.zeros((len(low), self.cells[side]))
        for column in range(starts.shape[1]):
            first = starts[:, column, None]
            clipped = np.clip(edges, first, first + lengths[:, column if lengths.shape[1] > 1 else 0, None])
            out += np.diff(clipped, axis=1)
        return out

    def places(self, how: Sequence[int], blocks: Any, flat: Any) -> None:
        """Each of `blocks` accesses these elements, by their place in row-major order: flat arrays of equal length."""
        rows, columns = flat // self.extents[1], flat % self.extents[1]
        rows, columns = rows // self.sizes[0], columns // self.sizes[1]
        counted = np.bincount(rows * self.cells[1] + columns, minlength=math.prod(self.cells)).reshape(self.cells)
        own = blocks < len(self.touched[0])
        for kind in how:
            self.times[kind] += counted
            self.elements[kind] += len(flat)
            bit = np.uint64(1) << (columns[own] % WORD).astype(np.uint64)
            np.bitwise_or.at(self.touched[kind], (blocks[own], rows[own], columns[own] // WORD), bit)

    def as_data(self) -> dict[str, Any]:
        """For the page: numbers by cell, row by row; of the blocks the runs of cells that they touch, each set of runs
        written once."""
        spans = [np.minimum((np.arange(c) + 1) * s, n) - np.arange(c) * s
                 for c, s, n in zip(self.cells, self.sizes, self.extents, strict=True)]
        area = np.outer(*spans)
        return {
            "name": self.name, "shape": list(self.array.shape), "split": self.split, "cells": self.cells,
            "sizes": self.sizes, "extents": self.extents, "itemsize": self.array.itemsize,
            "elements": self.elements, "kinds": [self._kind(kind, area) for kind in (READ, WRITE)]}

    def _kind(self, kind: int, area: Any) -> dict[str, Any] | None:
        if not self.elements[kind]:
            return None
        bits = np.unpackbits(self.touched[kind].view(np.uint8), axis=2, bitorder="little")
        touched = bits[:, :, : self.cells[1]]
        patterns: dict[bytes, int] = {}
        runs: list[list[int]] = []
        of_block = []
        for block in touched.reshape(len(touched), -1):
            key = block.tobytes()
            if key not in patterns:
                patterns[key] = len(runs)
                runs.append(_runs(block))
            of_block.append(patterns[key])
        times = (self.times[kind] / area).reshape(-1)
        return {"times": [float(f"{value:.4g}") for value in times.tolist()],
                "blocks": touched.sum(axis=0).reshape(-1).tolist(), "runs": runs, "of": of_block}


class Recorder(Memory):
    """Notes each access of a skeleton, and performs the real ones. `first` keeps, of each gather or scatter, the
    offsets in bytes and the mask of the first block that is seen."""

    def __init__(self, made: Skeleton) -> None:
        self.made = made
        self.maps: dict[str, ArrayMap] = {}
        self.counts: Counter[tuple[Op, str]] = Counter()
        self.first: dict[Op, tuple[Any, Any]] = {}
        self.ended = False
        self._regions = self._work = 0

    def begin(self, function: Function, grid: tuple[int, int, int], arguments: Sequence[Any]) -> None:
        self.grid = grid
        for argument in arguments:
            for ref in argument if isinstance(argument, list) else [argument]:
                if hasattr(ref, "window"):
                    array = ref.view(ref.offset, ref.extents, ref.strides)
                    self.maps[ref.name] = ArrayMap(ref.name, array, math.prod(grid))

    def read(self, region: Region, op: Op) -> Values:
        self._note(region, op)
        return region.read()

    def write(self, region: Region, values: Values, op: Op) -> None:
        self._note(region, op)
        if op in self.made.real:
            region.write(values)

    def update(self, region: Region, change: Change, op: Op) -> Values:
        self._note(region, op)
        return region.update(change)

    def _note(self, region: Region, op: Op) -> None:
        kind = self.made.kinds[op]
        how = {"read": (READ,), "write": (WRITE,), "update": (READ, WRITE)}[kind]
        shown = self.maps[region.array.name]
        ids = region.block_ids
        blocks = ids[:, 0] + self.grid[0] * (ids[:, 1] + self.grid[1] * ids[:, 2])
        before = shown.elements[how[0]]
        if isinstance(region, TileRegion) and len(region.array.strides) == shown.array.ndim:
            self._boxes(region, shown, how, blocks)
        else:
            self._places(region, shown, how, blocks, op)
            self._work += math.prod(region.shape)
        self.counts[op, shown.name] += shown.elements[how[0]] - before
        self._regions += 1
        if self._work > WORK or self._regions > REGIONS:
            self.ended = True
            raise Enough

    def _boxes(self, region: TileRegion, shown: ArrayMap, how: Sequence[int], blocks: Any) -> None:
        ref, count = region.array, len(blocks)
        shape, order = region.grid.shape, region.grid.order
        low, high = (np.zeros((count, shown.array.ndim), np.int64) for _ in range(2))
        for k, axis in enumerate(order):
            start = np.broadcast_to(region.index[k], (count,))
            low[:, axis] = np.maximum(start, 0)
            high[:, axis] = np.minimum(start + shape[k], ref.extents[axis])
        shift = _coordinates(np.broadcast_to(ref.offset, (count,)), shown.array)
        shown.boxes(how, blocks, low + shift, high + shift)

    def _places(self, region: Region, shown: ArrayMap, how: Sequence[int], blocks: Any, op: Op) -> None:
        """Where each block accesses elements of its own choice; a uniform region is that of each block."""
        offsets, mask = region.offsets(), region.mask
        tile = region.shape[1:] if region.varies else region.shape
        full = (len(blocks), *tile)
        offsets = np.broadcast_to(offsets, full)
        valid = np.broadcast_to(True if mask is None else mask, full)
        self.first.setdefault(op, (np.array(offsets[0]), np.array(valid[0])))
        numbers = np.broadcast_to(blocks.reshape(-1, *(1,) * len(tile)), full)[valid]
        at = _coordinates(offsets[valid], shown.array)
        flat = np.ravel_multi_index(tuple(at.T), shown.array.shape, mode="clip") if shown.array.ndim else 0 * numbers
        shown.places(how, numbers, flat)


class _Program(Program):
    """A skeleton, whose blocks only run one after another where what they write decides something."""

    loops = False

    def __init__(self, made: Skeleton) -> None:
        super().__init__(made.function)
        if not made.serial:
            self.hazards = FREE


def record(made: Skeleton, grid: tuple[int, int, int], values: Sequence[Any]) -> Recorder:
    """Run a skeleton on arrays, of which it changes those that decide where accesses go."""
    recorder = Recorder(made)
    options = ExecutionOptions(memory=recorder, chunk_bytes=1 << 40, chunk_blocks=KEPT)
    with contextlib.suppress(Enough), one_thread():
        _Program(made).run(grid, values, options)
    return recorder


def access_map(recorder: Recorder, number: Numbering) -> dict[str, Any]:
    """For the page: the arrays that were accessed, and their accesses."""
    maps = [found for found in recorder.maps.values() if any(found.elements)]
    rows = [{"what": recorder.made.kinds[op], "array": name, "at": number(chain_of(op.span)), "elements": count}
            for (op, name), count in recorder.counts.items()]
    return {"grid": list(recorder.grid), "kept": KEPT, "ended": recorder.ended, "ops": rows,
            "arrays": [found.as_data() for found in maps]}


def _split(shape: tuple[int, ...]) -> int:
    """The axis at which a picture of the array is most nearly square; 0 for arrays of one axis or none."""
    if len(shape) < 2:
        return 0
    return min(range(1, len(shape)), key=lambda k: abs(
        math.log(max(math.prod(shape[:k]), 1)) - math.log(max(math.prod(shape[k:]), 1))))


def _power(n: int) -> int:
    """The smallest power of two from n on: tiles are powers of two, so that no cell has parts of several."""
    return 1 << max(n - 1, 0).bit_length()


def _runs(cells: Any) -> list[int]:
    """First cell and length of each run of touched cells, one after the other."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], cells.astype(np.int8), [0]])))
    return [int(n) for first, end in zip(edges[::2], edges[1::2], strict=True) for n in (first, end - first)]


def _coordinates(offsets: Any, array: np.ndarray[Any, Any]) -> Any:
    """The index of the element at each offset in bytes: [offsets, rank]. Strides from the largest to the smallest."""
    out = np.zeros((len(offsets), array.ndim), np.int64)
    rest = np.asarray(offsets, np.int64)
    for axis in sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis])):
        if array.shape[axis] > 1 and array.strides[axis] > 0:
            out[:, axis], rest = np.divmod(rest, array.strides[axis])
    return out
