"""Loops that repeat themselves: iterations that leave carried values and memory as they were.

Memory is compared by the bytes that differ from what they were at some moment, however often they have been written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tilewright.interp.memory import Change, Memory, Region, Values
from tilewright.tileir.core import Op
from tilewright.tileir.ops.control import While
from tilewright.tileir.types import TileType

MOST = 4096
"""Bytes that are remembered. A loop that changes more is taken for one that goes on."""


class Changes:
    """The bytes of memory that are not what they were when this was made."""

    def __init__(self) -> None:
        self._before: dict[int, int] = {}
        self._many = False

    @property
    def none(self) -> bool:
        """Is all memory as it was?"""
        return not self._before and not self._many

    def note(self, addresses: Any, before: Any, after: Any) -> None:
        """Bytes have been overwritten."""
        if self._many or len(addresses) > MOST:
            self._many = True
            return
        for address, old, new in zip(addresses.tolist(), before.tolist(), after.tolist(), strict=True):
            if self._before.setdefault(address, old) == new:
                del self._before[address]
        self._many = len(self._before) > MOST

    def unknown(self) -> None:
        """Something has been overwritten of which nobody knows what it was."""
        self._many = True


class Written:
    """The bytes of a region, before and after a write."""

    def __init__(self, region: Region) -> None:
        self._window = region.array.window
        offsets, mask = np.broadcast_to(region.offsets(), region.shape), region.mask
        if mask is not None:
            offsets = offsets[np.broadcast_to(mask, region.shape)]
        size = region.array.memory.itemsize
        self._places = np.unique(np.add.outer(np.ravel(offsets), np.arange(size)))
        self._before = self._window[self._places]

    @property
    def changed(self) -> bool:
        """Is some byte another one now?"""
        return not np.array_equal(self._window[self._places], self._before)

    def tell(self, watchers: list[Changes]) -> None:
        """It has happened: tell what is another byte now."""
        after = self._window[self._places]
        changed = after != self._before
        if changed.any():
            addresses = self._window.__array_interface__["data"][0] + self._places[changed]
            for changes in watchers:
                changes.note(addresses, self._before[changed], after[changed])


class Watch:
    """Who wants to know just now what accesses change; and the last one that has read something."""

    def __init__(self) -> None:
        self._changes: list[Changes] = []
        self.last_read: tuple[Region, Op] | None = None

    @property
    def active(self) -> bool:
        return bool(self._changes)

    def begin(self) -> Changes:
        """From now on."""
        self._changes.append(Changes())
        self.last_read = None
        return self._changes[-1]

    def end(self, changes: Changes) -> None:
        """The end of one `begin`."""
        self._changes.remove(changes)

    def read(self, region: Region, op: Op) -> None:
        """A region is read."""
        if region.kind != "shared" and 0 not in region.shape:
            self.last_read = region, op

    def write(self, region: Region, write: Callable[[], Values]) -> Values:
        """A region is overwritten by a call, whose result this is."""
        if region.kind == "shared":
            for changes in self._changes:
                changes.unknown()
            return write()
        written = Written(region)
        out = write()
        written.tell(self._changes)
        return out


def carried_by(loop: While, low: Any) -> Callable[[list[Any]], Any]:
    """What a loop carries, from the registers, as something to compare."""
    tiles = low.slot_list(v for v in loop.before.params if isinstance(v.type, TileType))
    arrays = low.slot_list(v for v in loop.before.params if not isinstance(v.type, TileType))
    return lambda regs: ([np.ascontiguousarray(regs[p]).tobytes() for p in tiles], [id(regs[a]) for a in arrays])


def accesses(loop: While) -> bool:
    """Do iterations access memory?"""
    return any(op.effectful for op in loop.inside())


class Spin:
    """One run of a loop. After the `first` iterations it looks: it compares some with what there was when the look
    began; the next look begins after four times as many iterations."""

    def __init__(self, first: int) -> None:
        self.count = 0
        self._next = first
        self._since = self._until = self._period = 0
        self._held: Any = None
        self._changes = Changes()

    def look(self, state: Callable[[], Any], watch: Watch, most: int) -> int:
        """One iteration more: after how many of them all is as it was, 0 if that is not so. `state()`, the carried
        values; `most`, the longest look."""
        self.count += 1
        if self.count < self._next:
            return 0
        if self._held is None:
            self._held, self._changes = state(), watch.begin()
            self._since, self._until = self.count, self.count + min(self.count, most)
            return 0
        if self._changes.none and state() == self._held:
            self._period = self._period or self.count - self._since
            return self._period
        if self.count >= self._until:
            self._next = 4 * self.count
            self.leave(watch)
        return 0

    def leave(self, watch: Watch) -> None:
        """The loop has ended, or the look."""
        if self._held is not None:
            watch.end(self._changes)
        self._held, self._period = None, 0


class Watching(Memory):
    """Another memory, of which accesses are watched while somebody looks."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self.watch = Watch()

    def direct(self, op: Op) -> bool:
        return not self.watch.active and self._memory.direct(op)

    def read(self, region: Region, op: Op) -> Values:
        if self.watch.active:
            self.watch.read(region, op)
        return self._memory.read(region, op)

    def share(self, region: Region, whole: Callable[[], Region], op: Op) -> Values:
        if self.watch.active:
            self.watch.read(region, op)
        return self._memory.share(region, whole, op)

    def write(self, region: Region, values: Values, op: Op) -> None:
        if not self.watch.active:
            self._memory.write(region, values, op)
        else:
            self.watch.write(region, lambda: self._memory.write(region, values, op))

    def update(self, region: Region, change: Change, op: Op) -> Values:
        if not self.watch.active:
            return self._memory.update(region, change, op)
        self.watch.read(region, op)
        return self.watch.write(region, lambda: self._memory.update(region, change, op))

    def allocate(self, shape: tuple[int, ...], dtype: np.dtype[Any], chunk: Any, op: Op) -> Any:
        return self._memory.allocate(shape, dtype, chunk, op)

    def synchronise(self, chunk: Any, op: Op) -> None:
        self._memory.synchronise(chunk, op)
