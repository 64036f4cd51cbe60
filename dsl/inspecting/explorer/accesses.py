"""The map of each array: which block reads and writes which part, and how often each element is read.

The accesses come from a counting run (`tilewright.estimating.counting`): the kernel in the interpreter, without the
arithmetic that decides neither whether nor where something is accessed. Arrays are shown as pictures of at most
CELLS x CELLS cells. Of each cell are known the mean number of times that an element of it is read or written, exactly,
and the blocks that touch it.
"""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.arguments.spec import Spec
from tilewright.estimating.counting import Accessing, CountingProgram
from tilewright.estimating.traffic import tile_shape
from tilewright.estimating.values import counting_values
from tilewright.inspecting.explorer.places import Numbering, chain_of
from tilewright.interp.access import over_tile
from tilewright.interp.arrays import ArrayRef
from tilewright.interp.blas import one_thread
from tilewright.tileir.core import Op

if TYPE_CHECKING:
    from tilewright.inspecting.stages import Stages

CELLS = 64
LINE = CELLS * CELLS  # cells of an array of one axis
WORD = 64  # bits
# The blocks whose own parts can be shown, and the most gathered elements and accesses that are noted before the run
# is ended.
KEPT = 4096
WORK = 1 << 27
ACCESSES = 40_000

READ, WRITE = 0, 1


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


class Recorder:
    """Observes a counting run. `first` keeps, of each gather or scatter, the offsets in bytes of the elements, and
    which of them are accessed, in the first block that is seen."""

    def __init__(self, grid: tuple[int, int, int]) -> None:
        self.grid = grid
        self.maps: dict[str, ArrayMap] = {}
        self.counts: Counter[tuple[Op, str]] = Counter()
        self.first: dict[Op, tuple[Any, Any]] = {}
        self.ended = False
        self._accesses = self._work = 0

    def bound(self, values: Sequence[Any]) -> None:
        for value in values:
            for ref in value if isinstance(value, list) else [value]:
                if isinstance(ref, ArrayRef):
                    array = ref.view(ref.offset, ref.extents, ref.strides)
                    self.maps[ref.name] = ArrayMap(ref.name, array, math.prod(self.grid))

    def tile(self, op: Op, ref: ArrayRef, starts: list[Any], blocks: Accessing) -> None:
        shown, count = self.maps[ref.name], blocks.count
        low, high = (np.zeros((count, len(ref.extents)), np.int64) for _ in range(2))
        for start, length, axis in zip(starts, tile_shape(op), op.order, strict=True):  # type: ignore[attr-defined]
            low[:, axis] = np.maximum(start, 0)
            high[:, axis] = np.minimum(start + length, ref.extents[axis])
        numbers = self._numbers(blocks)
        with self._noted(op, shown) as how:
            if len(ref.strides) == shown.array.ndim:
                shift = _coordinates(np.broadcast_to(ref.offset, (count,)), shown.array)
                shown.boxes(how, numbers, low + shift, high + shift)
                return
            # A view with axes of its own: element by element.
            offsets = np.broadcast_to(ref.offset, (count,))
            for number, first, end, offset in zip(numbers, low, high, offsets, strict=True):
                along = np.ix_(*(np.arange(a, b) * s for a, b, s in zip(first, end, ref.strides, strict=True)))
                self._places(shown, how, np.asarray(number), offset + sum(along, np.int64(0)), np.asarray(True))

    def elements(self, op: Op, ref: ArrayRef, indices: list[Any], mask: Any, blocks: Accessing) -> None:
        shown, rank = self.maps[ref.name], len(op.shape)  # type: ignore[attr-defined]
        valid: Any = np.asarray(True if mask is None else mask)
        offsets: Any = over_tile(ref.offset, rank)
        for index, extent, stride in zip(indices, ref.extents, ref.strides, strict=True):
            along = np.asarray(index, np.int64)
            valid = valid & (along >= 0) & (along < over_tile(extent, rank))
            offsets = offsets + along * stride
        full = (blocks.count, *op.shape)  # type: ignore[attr-defined]
        offsets, valid = np.broadcast_to(offsets, full), np.broadcast_to(valid, full)
        self.first.setdefault(op, (np.array(offsets[0]), np.array(valid[0])))
        numbers = self._numbers(blocks).reshape(-1, *(1,) * rank)
        with self._noted(op, shown) as how:
            self._places(shown, how, numbers, offsets, valid)

    def _numbers(self, blocks: Accessing) -> Any:
        """The number of each block in the grid, the first axis fastest."""
        x, y, z = blocks.ids
        return x + self.grid[0] * (y + self.grid[1] * z)

    @contextlib.contextmanager
    def _noted(self, op: Op, shown: ArrayMap) -> Iterator[tuple[int, ...]]:
        """Whether an access reads or writes; afterwards how many elements it had is noted."""
        effects = op.effects()
        how = (READ,) * bool(effects.reads) + (WRITE,) * bool(effects.writes)
        before = shown.elements[how[0]]
        yield how
        self.counts[op, shown.name] += shown.elements[how[0]] - before
        self._accesses += 1
        if self._work > WORK or self._accesses > ACCESSES:
            self.ended = True
            raise Enough

    def _places(self, shown: ArrayMap, how: Sequence[int], numbers: Any, offsets: Any, valid: Any) -> None:
        """Blocks of these numbers access elements at these offsets in bytes where `valid`; arrays of one shape."""
        numbers, offsets, valid = np.broadcast_arrays(numbers, offsets, valid)
        self._work += valid.size
        at = _coordinates(offsets[valid], shown.array)
        flat = at[:, :0].sum(axis=1)
        if shown.array.ndim:
            flat = np.ravel_multi_index(tuple(at.T), shown.array.shape, mode="clip")
        shown.places(how, numbers[valid], flat)


def record(stages: Stages, grid: tuple[int, int, int]) -> tuple[Recorder, list[str]]:
    """The accesses of a launch over the grid, and the names of the arrays whose contents had to be made up although
    they decide something. Errors: TypeError for arguments of which too little is known to run."""
    recorder = Recorder(grid)
    program = CountingProgram(stages.tile_ir(), recorder)
    contents: list[Any] = program.slice.contents
    decides = sorted({p for op in contents for p in program.dependences.parameters(op.array)})
    values = counting_values(stages.arguments, bool(contents))
    invented = invent(stages.values, values, decides)
    with contextlib.suppress(Enough), one_thread():
        program.count(grid, values)
    return recorder, [program.function.params[p].hint for p in invented]


def invent(given: Sequence[Any], values: Sequence[Any], decides: Sequence[int]) -> list[int]:
    """Fill the arrays at these positions of which only the type is given: integers from 0 to below the largest extent,
    floats from 0 to 1. The positions of those that were."""
    random = np.random.default_rng(0)
    most = max((n for value in values for n in getattr(value, "shape", ())), default=1)
    out = [p for p in decides if any(isinstance(one, Spec) for one in _items(given[p]))]
    for position in out:
        for one, array in zip(_items(given[position]), _items(values[position]), strict=True):
            if isinstance(one, Spec):
                made = random.random(array.shape) if one.dtype.is_float else random.integers(0, most, array.shape)
                array[...] = made.astype(array.dtype)
    return out


def _items(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else [value]


def access_map(recorder: Recorder, number: Numbering) -> dict[str, Any]:
    """For the page: the arrays that were accessed, and their accesses."""
    maps = [found for found in recorder.maps.values() if any(found.elements)]
    rows = [{"what": _kind(op), "array": name, "at": number(chain_of(op.span)), "elements": count}
            for (op, name), count in recorder.counts.items()]
    return {"grid": list(recorder.grid), "kept": KEPT, "ended": recorder.ended, "ops": rows,
            "arrays": [found.as_data() for found in maps]}


def _kind(op: Op) -> str:
    effects = op.effects()
    return "update" if effects.reads and effects.writes else "read" if effects.reads else "write"


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
