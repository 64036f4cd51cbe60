"""Find unordered accesses: vector clocks over warps, and for each memory cell who wrote and read it last.

`known[w, v]` is the latest time of warp v that warp w is ordered after. Time of a warp advances at each barrier it
passes, so two accesses of one warp without a barrier between them are unordered too, unless one thread made both:
since Volta the lanes of a warp run at their own pace. A race is found whichever of the two accesses ran first here.

Bulk copies and matrix units access memory by another way ("proxy") than threads. Each bulk copy's landing counts as a
write by an *engine*, a warp that exists only here (one for each mbarrier); and what threads write must pass a proxy
fence before matrix units and copies may read it: every ordinary write has a number, and `fenced[w, v]` is the latest
write of warp v that warp w knows to have passed one.

Between blocks of a cluster some instructions order accesses to shared memory alone: what they tell does not count for
global memory, which has its own times, `far`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.backend_ptx.simulator.errors import Race

Array = np.ndarray[Any, Any]
_TIME, _WRITES, _FENCED, _FAR = range(4)
_SEVERAL = -1  # "reader thread" when several lanes of the warp read the cell
_MAX_GRAIN = 16


class Clocks:
    """The vector clocks of the warps of one block or cluster. These run one after another, so time only grows."""

    def __init__(self, warps: int, cluster: int = 1) -> None:
        self.writes = 0  # number of the latest ordinary write
        # Times; latest write known, by number; latest write known to have passed a proxy fence; in a cluster times for
        # global memory.
        self._state = np.zeros((3 if cluster == 1 else 4, warps, warps), np.int64)
        self._times = [_TIME] if cluster == 1 else [_TIME, _FAR]
        self._state[self._times] = 1
        # By how many ticks a warp's lanes have not met since: what they did before these is not ordered among them.
        self._apart = np.zeros(warps, np.int64)
        self._refresh()
        self.started = self.now.copy()  # when the present block began; who knows a warp's time of then has heard of it

    def _refresh(self) -> None:
        own: Array = np.diag(1 + self._apart)
        self.known: Array = self._state[_TIME] - own
        self.far: Array = self.known if len(self._times) == 1 else self._state[_FAR] - own
        self.now = np.ascontiguousarray(np.diagonal(self._state[_TIME]))

    def _tick(self, warps: Array, meet: bool = True) -> None:
        """The time of `warps` advances, because their lanes `meet` or because they have told of themselves."""
        self._apart[warps] = 0 if meet else self._apart[warps] + 1
        for which in self._times:
            self._state[which, warps, warps] += 1
        self._refresh()

    @property
    def fenced(self) -> Array:
        return np.asarray(self._state[_FENCED])

    def add_engine(self) -> int:
        """A warp more, of which nobody knows anything."""
        number = len(self.now)
        self._state = np.pad(self._state, ((0, 0), (0, 1), (0, 1)))
        self._apart = np.append(self._apart, 0)
        for which in self._times:
            self._state[which, :, number] = 1
            self._state[which, number, number] = 2
        self._refresh()
        return number

    def _note_writes(self, warps: Array) -> None:
        self._state[_WRITES, warps, warps] = self.writes

    def join(self, warps: Array) -> None:
        """A barrier among `warps`: all are ordered after everything that any of them did."""
        self._note_writes(warps)
        self._state[:, warps] = self._state[:, warps].max(axis=1)[:, None]
        self._tick(warps)

    def release(self, warps: Array, whole: bool = True, far: bool = True) -> Array:
        """What a waiter learns when these warps arrive; their time advances.

        Where only some lanes arrive (not `whole`) it is what the warps did before their last barrier. Not `far`: it
        counts for shared memory only.
        """
        if whole:
            self._note_writes(warps)
        told = self._state[:, warps]
        if not far:
            told[_FAR:] = 0
        if not whole:
            for which in self._times:
                told[which, np.arange(len(warps)), warps] -= 1
            return np.asarray(told.max(axis=1))
        latest: Array = told.max(axis=1)
        self._tick(warps, meet=False)
        return latest

    def acquire(self, warps: Array, learned: Array) -> None:
        """`warps` become ordered after what `release` returned."""
        count = learned.shape[1]  # engines may have come since
        self._state[:, warps, :count] = np.maximum(self._state[:, warps, :count], learned[:, None])
        past = self._state[_TIME, warps, warps] - learned[_TIME, warps]
        self._apart[warps] = np.minimum(self._apart[warps], past - 1)
        self._refresh()

    def advance(self, warps: Array) -> None:
        """A barrier inside each of `warps`."""
        self._note_writes(warps)
        self._tick(warps)

    def fence(self, warps: Array) -> None:
        """A proxy fence by `warps`: all writes that they know of have passed it."""
        self._note_writes(warps)
        self._state[_FENCED, warps] = np.maximum(self._state[_FENCED, warps], self._state[_WRITES, warps])

    def new_block(self) -> None:
        """The next block starts: what came before is judged per block, not per warp."""
        everybody = np.arange(len(self.now))
        self.join(everybody)
        self.started = self.now.copy()
        self._tick(everybody)

    def presence(self, warps: Array) -> Array:
        """What a waiter learns of warps that tell only that they have started."""
        told = np.zeros_like(self._state[:, 0])
        told[_TIME, warps] = self.started[warps]
        return told


def merge_learned(a: Array | None, b: Array) -> Array:
    """Both of two things learned, of which one may be older and know fewer engines."""
    if a is None:
        return b
    wide = max(a.shape[1], b.shape[1])
    a, b = (np.pad(v, ((0, 0), (0, wide - v.shape[1]))) for v in (a, b))
    return np.asarray(np.maximum(a, b))


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
        for name in ("writer", "written", "read", "reader", "number", "wrote", "looked"):
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

    def on_read(self, clocks: Clocks, threads: Array, offsets: Array, size: int, block: int) -> None:
        cells = self._cells(offsets, size)
        who = threads[:, None]
        warp = who >> 5
        writer = self.writer[cells]
        bad = (self.written[cells] > self._known(clocks)[warp, writer >> 5]) & (writer != who)
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
            clocks.writes += 1
            self.number[cells] = clocks.writes
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
            clocks.writes += ordinary
            self.number[cells] = clocks.writes if ordinary else 0

    def unfenced(self, clocks: Clocks, warps: Array, offsets: Array, size: int) -> Array:
        """Per access by a matrix unit or bulk copy of one of `warps`: no fence after the last ordinary write."""
        assert self.number is not None
        cells = self._cells(offsets, size)
        late = self.number[cells] > clocks.fenced[warps[:, None], self.writer[cells] >> 5]
        return np.asarray(late.any(axis=1))

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
