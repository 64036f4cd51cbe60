"""Find unordered accesses: vector clocks over warps, and for each memory cell who wrote and read it last.

`known[w, v]` is the latest time of warp v that warp w is ordered after. Time of a warp advances at each barrier it
passes, so two accesses of one warp without a barrier between them are unordered too, unless one thread made both:
since Volta the lanes of a warp run at their own pace. A race is found whichever of the two accesses ran first here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sim.errors import Race

Array = np.ndarray[Any, Any]
_SEVERAL = -1  # "reader thread" when several lanes of the warp read the cell
_MAX_GRAIN = 16


class Clocks:
    """The vector clocks of the warps of one block. Blocks run one after another, so time only grows."""

    def __init__(self, warps: int) -> None:
        self._clock = np.ones((warps, warps), np.int32)
        self._own = np.eye(warps, dtype=np.int32)
        self._refresh()

    def _refresh(self) -> None:
        self.known = self._clock - self._own
        self.now = np.ascontiguousarray(np.diagonal(self._clock))

    def join(self, warps: Array) -> None:
        """A barrier among `warps`: all are ordered after everything that any of them did."""
        latest = self._clock[warps].max(axis=0)
        self._clock[warps] = latest
        self._clock[warps, warps] += 1
        self._refresh()

    def release(self, warps: Array) -> Array:
        """What a waiter learns when these warps arrive; their time advances."""
        latest: Array = self._clock[warps].max(axis=0)
        self._clock[warps, warps] += 1
        self._refresh()
        return latest

    def acquire(self, warps: Array, learned: Array) -> None:
        """`warps` become ordered after what `release` returned."""
        self._clock[warps] = np.maximum(self._clock[warps], learned)
        self._refresh()

    def advance(self, warps: Array) -> None:
        """A barrier inside each of `warps`."""
        self._clock[warps, warps] += 1
        self._refresh()

    def new_block(self) -> None:
        """The next block starts: what came before is judged per block, not per warp."""
        self.join(np.arange(len(self.now)))


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
        for name in ("writer", "written", "read", "reader", "wrote", "looked"):
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

    def on_read(self, clocks: Clocks, threads: Array, offsets: Array, size: int, block: int) -> None:
        cells = self._cells(offsets, size)
        who = threads[:, None]
        warp = who >> 5
        writer = self.writer[cells]
        bad = (self.written[cells] > clocks.known[warp, writer >> 5]) & (writer != who)
        if bad.any():
            self._report("reads what thread {} writes", bad, who, writer)
        self._note_read(clocks, cells, who, warp)
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
        known = clocks.known[warp]  # [threads, 1, warps]
        differs = changes.reshape(*cells.shape, -1).any(axis=-1)
        bad = (self.written[cells] > clocks.known[warp, writer >> 5]) & (writer != who) & differs
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
        if self.wrote is not None and self.looked is not None:
            for seen, text in ((self.wrote, "writes what another block writes too"),
                               (self.looked, "writes what another block reads")):
                other = (seen[cells] != block) & (seen[cells] >= 0) & differs
                if other.any():
                    self._report_block(text, other, who)
            self.wrote[cells] = block

    @staticmethod
    def _report(text: str, bad: Array, who: Array, other: Array) -> None:
        row, column = np.argwhere(bad)[0]
        thread = int(np.broadcast_to(who, bad.shape)[row, column])
        second = int(other[row, column])
        name = "another lane of its warp" if second == _SEVERAL else f"{second}"
        raise Race(f"race: thread {thread} {text.format(name)}, with no barrier between them", [thread])

    @staticmethod
    def _report_block(text: str, bad: Array, who: Array) -> None:
        row, _ = np.argwhere(bad)[0]
        raise Race(f"race between blocks: thread {int(who[row, 0])} {text}", [int(who[row, 0])])
