"""Memories for the interpreter: one that records, one that refuses writes, one that keeps all contents elsewhere."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tilewright.interp import Memory, Region
from tilewright.interp.arrays import ArrayRef
from tilewright.interp.shared import SharedBuffer
from tilewright.tileir.core import Op
from tilewright.tileir.diagnostics import TileError


class Access(NamedTuple):
    """One access of a chunk: what, of which array, in which line, by which blocks, how many elements of each."""

    what: str
    opcode: str
    array: str
    line: int
    blocks: tuple[tuple[int, int, int], ...]
    elements: int


class Recorder(Memory):
    """Plain memory that writes down every access."""

    def __init__(self) -> None:
        self.log: list[Access] = []
        self.synchronised: list[str] = []
        self.launches: list[tuple[str, tuple[int, int, int]]] = []

    def begin(self, function: Any, grid: tuple[int, int, int], arguments: Any) -> None:
        self.launches.append((function.name, grid))

    def end(self) -> None:
        self.launches.append(("end", (0, 0, 0)))

    def _note(self, what: str, region: Region, op: Op) -> None:
        mask = region.mask
        elements = int(np.prod(region.shape)) if mask is None else int(np.count_nonzero(mask))
        blocks = tuple(tuple(int(i) for i in ids) for ids in region.block_ids)
        self.log.append(Access(what, op.opcode, region.array.name, op.span.line, blocks, elements))  # type: ignore[arg-type]

    def read(self, region: Region, op: Op) -> Any:
        self._note("read", region, op)
        return super().read(region, op)

    def write(self, region: Region, values: Any, op: Op) -> None:
        self._note("write", region, op)
        super().write(region, values, op)

    def update(self, region: Region, change: Any, op: Op) -> Any:
        self._note(f"update {change.kind}", region, op)
        return super().update(region, change, op)

    def synchronise(self, chunk: Any, op: Op) -> None:
        self.synchronised.append(op.opcode)


class Refused(TileError):
    """A write that a memory did not allow."""


class ReadOnly(Memory):
    """Refuses writes: by the ops of one opcode, or all writes to arrays."""

    def __init__(self, opcode: str | None = None) -> None:
        self.opcode = opcode

    def _check(self, region: Region, op: Op) -> None:
        if op.opcode == self.opcode or (self.opcode is None and region.kind != "shared"):
            raise Refused(f"{op.opcode} writes to {region.array.name}")

    def write(self, region: Region, values: Any, op: Op) -> None:
        self._check(region, op)
        super().write(region, values, op)

    def update(self, region: Region, change: Any, op: Op) -> Any:
        self._check(region, op)
        return super().update(region, change, op)


class Elsewhere(Memory):
    """Keeps the contents of arrays and shared buffers in memory of its own. What handlers hold is filled with other
    bytes, which must neither be read (the results would be wrong) nor written (`untouched` looks). It also compares
    each access with what `offsets` and `mask` say of it."""

    def __init__(self) -> None:
        self._own: dict[int, tuple[Any, Any]] = {}  # by the address of the decoy: the decoy, and the true contents
        self.accesses = 0
        self._live: list[tuple[Any, Any]] = []

    def begin(self, function: Any, grid: tuple[int, int, int], arguments: Any) -> None:
        for argument in arguments:
            for ref in argument if isinstance(argument, list) else [argument]:
                if isinstance(ref, ArrayRef) and ref.window.size:
                    self._adopt(ref.window)

    def _adopt(self, decoy: Any) -> None:
        address = decoy.__array_interface__["data"][0]
        if address not in self._own:
            self._own[address] = decoy, decoy.copy()
            decoy.view(np.uint8)[...] = 0xA5

    def allocate(self, shape: Any, dtype: Any, chunk: Any, op: Op) -> Any:
        decoy = super().allocate(shape, dtype, chunk, op)
        self._own[id(decoy)] = decoy, decoy.copy()
        decoy.view(np.uint8)[...] = 0xA5
        return decoy

    def _redirected(self, region: Region) -> Region:
        held = region.array
        if isinstance(held, SharedBuffer):
            _, own = self._own[id(held.data)]
            region.array = SharedBuffer(held.name, own, held.varies, held.rows, held.slot, held.views)
        elif held.window.size:
            _, own = self._own[held.window.__array_interface__["data"][0]]
            line = np.ndarray(held.line.shape, held.line.dtype, own, 0, held.line.strides)
            region.array = ArrayRef(held.name, own, held.memory, held.offset, held.extents, held.strides, held.unit,
                                    line)
        self.accesses += 1
        return region

    def _elements(self, region: Region) -> Any:
        """The elements at the offsets of a region of an array, where its mask allows, as they lie in memory."""
        offsets, mask = region.offsets(), region.mask
        assert offsets.shape == region.shape and (mask is None or mask.shape == region.shape)
        where = offsets if mask is None else offsets[mask]
        size = region.array.memory.itemsize
        places = where.reshape(-1, 1) + np.arange(size)
        return region.array.window[places].reshape(-1, size).view(region.array.memory).reshape(-1)

    def read(self, region: Region, op: Op) -> Any:
        got = super().read(self._redirected(region), op)
        assert got.shape == region.shape, (op.opcode, got.shape, region.shape)
        if region.kind != "shared" and region.array.window.size:
            raw = np.broadcast_to(got, region.shape)
            held = raw.reshape(-1) if region.mask is None else raw[region.mask]
            assert same(region_format(region).decode(self._elements(region)), held), f"{op.opcode}: other elements"
        elif region.kind == "shared":
            flat = region.array.data.reshape(len(region.array.data), -1) if region.varies else region.array.data
            assert region.offsets().shape == got.shape and region.offsets().max(initial=0) < flat.nbytes
        return got

    def write(self, region: Region, values: Any, op: Op) -> None:
        self._watch(region, op, lambda: super(Elsewhere, self).write(region, values, op))

    def update(self, region: Region, change: Any, op: Op) -> Any:
        return self._watch(region, op, lambda: super(Elsewhere, self).update(region, change, op))

    def _watch(self, region: Region, op: Op, act: Any) -> Any:
        """Only bytes at the region's offsets may change."""
        self._redirected(region)
        if region.kind == "shared":
            return act()
        window = region.array.window
        before = window.copy()
        out = act()
        allowed = np.zeros(window.size, np.bool_)
        if window.size:
            offsets, mask = region.offsets(), region.mask
            where = offsets if mask is None else offsets[mask]
            allowed[(where.reshape(-1, 1) + np.arange(region.array.memory.itemsize)).reshape(-1)] = True
        assert not np.any((window != before) & ~allowed), f"{op.opcode}: writes outside its region"
        return out

    def finish(self) -> None:
        """Nobody has written past the memory; then the arrays get their contents."""
        for decoy, own in self._own.values():
            assert np.all(decoy.view(np.uint8) == 0xA5), "an access did not go through the memory"
            decoy[...] = own


def region_format(region: Any) -> Any:
    """The format of a region's elements."""
    return region.grid.format if region.kind == "tile" else region.format


def same(a: Any, b: Any) -> bool:
    a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
    return bool(a.dtype == b.dtype and np.array_equal(a.view(np.uint8), b.view(np.uint8)))
