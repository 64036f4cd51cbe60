"""Where machine code records the launches of a profile, while nobody else watches: what a launch costs then is two
events and two looks at the clock."""

from __future__ import annotations

import ctypes
import sys
from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from tilewright.launching.machine.layout import BLOCK, RECORD, RECORDS
from tilewright.launching.words import KnownLaunch, Words, function_address

FIRST, MORE = 4096, 256  # records made at once, with two events each


class TimedLaunch(NamedTuple):
    """One launch: the number of its kind, the host's times in nanoseconds of `time.perf_counter_ns`, thread and stream,
    and the events before and after it."""

    number: int
    start: int
    stop: int
    thread: int
    stream: int
    before: int
    after: int


class LaunchRecords:
    """The records of one GPU. `create` makes events, into so many places from an address on; `destroy` takes one. One
    thread at a time calls its methods.

    Machine code holds a reference while it writes, so that the events and this memory outlive a launch of another
    thread, also where the profile has ended.
    """

    def __init__(self, create: Callable[[int, int], Any], destroy: Callable[[int], Any]) -> None:
        self._create = create
        self._destroy = destroy
        self._blocks: list[array[int]] = []
        self._known: dict[int, KnownLaunch] = {}
        self._words = Words(RECORDS, record=function_address("cuEventRecord", 4000), clock=_clock(), owner=id(self))
        self._more(FIRST)

    @staticmethod
    def possible() -> bool:
        """Whether Python's clock is one that machine code can read."""
        return sys.platform == "linux"

    def take(self, known: KnownLaunch, number: int, args: Sequence[Any]) -> None:
        """From now on record launches like this one, by these arguments, as launches of the kind of this number."""
        block = self._blocks[-1]
        if block[BLOCK.index("next")] == block[BLOCK.index("end")]:
            self._more(MORE)
        self._known[id(known)] = known
        known.record(self._words.address, number, args)

    def end(self) -> list[TimedLaunch]:
        """Record no more; what was recorded."""
        for known in self._known.values():
            known.forget()
        return list(self._whole())

    def _whole(self) -> Iterator[TimedLaunch]:
        size = len(RECORD)
        for block in self._blocks:
            for i in range(len(BLOCK), len(block), size):
                if block[i]:  # else it was not used, or the launch failed, and Python made it
                    number, *rest = block[i : i + size]
                    yield TimedLaunch(number - 1, *rest)

    def _more(self, count: int) -> None:
        size = len(RECORD)
        events = array("q", bytes(16 * count))
        self._create(events.buffer_info()[0], 2 * count)
        block = array("q", bytes(8 * (len(BLOCK) + size * count)))
        for name, own in (("before", events[0::2]), ("after", events[1::2])):
            block[len(BLOCK) + RECORD.index(name)::size] = own
        start = block.buffer_info()[0]
        block[BLOCK.index("next")] = start + 8 * len(BLOCK)
        block[BLOCK.index("end")] = start + 8 * len(block)
        self._blocks.append(block)
        self._words.set(block=start)  # one word: other threads have the old block, which is full, or the new one

    def __del__(self) -> None:
        size = len(RECORD)
        for block in getattr(self, "_blocks", ()):
            for name in ("before", "after"):
                for event in block[len(BLOCK) + RECORD.index(name)::size]:
                    self._destroy(event)


def _clock() -> int:
    """The address of clock_gettime."""
    return ctypes.cast(ctypes.CDLL(None).clock_gettime, ctypes.c_void_p).value or 0
