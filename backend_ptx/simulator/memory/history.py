"""Find unordered accesses: for each memory cell who wrote and read it last, and when, by the warps' vector clocks.

A race is found whichever of the two accesses ran first here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.backend_ptx.simulator.errors import Race
from tilewright.backend_ptx.simulator.memory.clocks import Clocks

Array = np.ndarray[Any, Any]
_SEVERAL = -1  # "reader thread" when several lanes of the warp read the cell
_MAX_GRAIN = 16


class History:
    """Last writer and last reads of every cell of one memory.

    A cell starts as 16 bytes and becomes smaller for all when an access asks for less, so that most kernels pay
    for few cells.
    """

    def __init__(self, size: int, warps: int, per_block: bool) -> None:
        self.grain = _MAX_GRAIN
        cells = -(-size // self.grain)
        self.writer = np.zeros(cells, np.int32)
        self.written = np.zeros(cells, np.int32)  # time of the write, 0 for never
        self.read = np.zeros((cells, warps), np.int32)  # time of the last read by each warp
        self.reader = np.zeros((cells, warps), np.int32)
        # Number of the last ordinary write, 0 where a bulk copy wrote last.
        self.number = None if per_block else np.zeros(cells, np.int64)
        # Number of the last ordinary read by each warp.
        self.read_number = None if per_block else np.zeros((cells, warps), np.int64)
        self.far = per_block
        # Memory that outlives a block also remembers blocks; -1 is none.
        self.wrote = np.full(cells, -1, np.int32) if per_block else None
        self.looked = np.full(cells, -1, np.int32) if per_block else None

    def _refine(self, offsets: Array, size: int) -> None:
        grain = self.grain
        low = int(np.bitwise_or.reduce(offsets)) | size if len(offsets) else size
        while low % grain:
            grain //= 2
        if grain == self.grain:
            return
        factor = self.grain // grain
        for name in ("writer", "written", "read", "reader", "number", "read_number", "wrote", "looked"):
            old = getattr(self, name)
            if old is not None:
                setattr(self, name, np.repeat(old, factor, axis=0))
        self.grain = grain

    def _cells(self, offsets: Array, size: int) -> Array:
        self._refine(offsets, size)
        count = size // self.grain
        first = offsets.astype(np.int64) // self.grain
        return first[:, None] if count == 1 else first[:, None] + np.arange(count)

    def forget(self, blocks: set[int]) -> None:
        """The present block is ordered after these."""
        for seen in (self.wrote, self.looked):
            if seen is not None and blocks:
                seen[np.isin(seen, list(blocks))] = -1

    def _known(self, clocks: Clocks) -> Array:
        return clocks.far if self.far else clocks.known

    def on_read(
        self, clocks: Clocks, threads: Array, offsets: Array, size: int, block: int, ordinary: bool = True
    ) -> None:
        """Not `ordinary`: by a matrix unit or bulk copy that a thread started, now that it has ended."""
        cells = self._cells(offsets, size)
        who = threads[:, None]
        warp = who >> 5
        writer = self.writer[cells]
        bad = (self.written[cells] > self._known(clocks)[warp, writer >> 5]) & (writer != who)
        if bad.any():
            self._report("reads what thread {} writes", bad, who, writer)
        self._note_read(clocks, cells, who, warp)
        if ordinary and self.read_number is not None:
            clocks.accesses += 1
            self.read_number[cells, warp] = clocks.accesses
        if self.wrote is not None and self.looked is not None:
            other = (self.wrote[cells] != block) & (self.wrote[cells] >= 0)
            if other.any():
                self._report_block("reads what another block writes", other, who)
            self.looked[cells] = block

    def _note_read(self, clocks: Clocks, cells: Array, who: Array, warp: Array) -> None:
        now = clocks.now[warp]
        before = (self.read[cells, warp] == now) & (self.reader[cells, warp] != who)
        self.read[cells, warp] = now
        self.reader[cells, warp] = who
        several = before | (self.reader[cells, warp] != who)
        if several.any():
            self.reader[cells[several], np.broadcast_to(warp, cells.shape)[several]] = _SEVERAL

    def on_write(self, clocks: Clocks, threads: Array, offsets: Array, size: int, block: int, changes: Array) -> None:
        """`changes` [threads, size] says which bytes differ from what memory holds: equal writes do not race."""
        cells = self._cells(offsets, size)
        who = threads[:, None]
        warp = who >> 5
        writer = self.writer[cells]
        ordered = self._known(clocks)
        known = ordered[warp][..., : self.read.shape[1]]  # [threads, 1, warps]
        differs = changes.reshape(*cells.shape, -1).any(axis=-1)
        bad = (self.written[cells] > ordered[warp, writer >> 5]) & (writer != who) & differs
        if bad.any():
            self._report("writes what thread {} writes too", bad, who, writer)
        unordered = self.read[cells] > known
        if unordered.any():
            readers = self.reader[cells]
            unordered &= readers != who[:, :, None]
            if unordered.any():
                first = np.take_along_axis(readers, unordered.argmax(axis=-1)[..., None], -1)[..., 0]
                self._report("writes what thread {} reads", unordered.any(axis=-1), who, first)
        self.writer[cells] = who
        self.written[cells] = clocks.now[warp]
        if self.number is not None:
            clocks.accesses += 1
            self.number[cells] = clocks.accesses
        if self.wrote is not None and self.looked is not None:
            for seen, text in ((self.wrote, "writes what another block writes too"),
                               (self.looked, "writes what another block reads")):
                other = (seen[cells] != block) & (seen[cells] >= 0) & differs
                if other.any():
                    self._report_block(text, other, who)
            self.wrote[cells] = block

    def on_engine_write(
        self, clocks: Clocks, offsets: Array, size: int, engine: int, ordinary: bool = False
    ) -> None:
        """A copy lands; that it may write there was checked when it started. `ordinary`: as threads write."""
        cells = self._cells(offsets, size)
        self.writer[cells] = engine << 5
        self.written[cells] = clocks.now[engine]
        if self.number is not None:
            clocks.accesses += ordinary
            self.number[cells] = clocks.accesses if ordinary else 0

    def unfenced(self, clocks: Clocks, warps: Array, offsets: Array, size: int) -> Array:
        """Per access by a matrix unit or bulk copy of one of `warps`: no fence after the last ordinary write."""
        assert self.number is not None
        cells = self._cells(offsets, size)
        late = self.number[cells] > clocks.fenced[warps[:, None], self.writer[cells] >> 5]
        return np.asarray(late.any(axis=1))

    def unfenced_reads(self, clocks: Clocks, warps: Array, offsets: Array, size: int) -> Array:
        """Per copy started by one of `warps`: no fence after an ordinary read of what it overwrites."""
        assert self.read_number is not None
        cells = self._cells(offsets, size)
        late = self.read_number[cells] > clocks.fenced[warps[:, None], : self.read.shape[1]]
        return np.asarray(late.any(axis=(1, 2)))

    def _report(self, text: str, bad: Array, who: Array, other: Array) -> None:
        row, column = np.argwhere(bad)[0]
        thread = int(np.broadcast_to(who, bad.shape)[row, column])
        second = int(other[row, column])
        name = "another lane of its warp" if second == _SEVERAL else f"{second}"
        if second >> 5 >= self.read.shape[1]:
            name, text = "a bulk copy", text.replace("thread {}", "{}")
        raise Race(f"race: thread {thread} {text.format(name)}, with no barrier between them", [thread])

    @staticmethod
    def _report_block(text: str, bad: Array, who: Array) -> None:
        row, _ = np.argwhere(bad)[0]
        raise Race(f"race between blocks: thread {int(who[row, 0])} {text}", [int(who[row, 0])])
