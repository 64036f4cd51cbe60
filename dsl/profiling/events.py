"""Times on the GPU: two events around each launch, read when the profile ends."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

from tilewright.backend_ptx.runtime.driver import CudaError, check, driver, get_device
from tilewright.launching import native
from tilewright.launching.records import LaunchRecords, TimedLaunch

FIRST, MORE = 8192, 512  # events made at once: by machine code each takes a quarter of a microsecond
ENOUGH = 64  # for as many threads as may launch at once

Pair = tuple[int, int, int]  # the stream, and the events before and after


class DeviceTimer:
    """The events of one GPU. Times are nanoseconds of the host's clock: an event that nothing on the GPU holds up is
    taken for the moment at which it was recorded."""

    def __init__(self, ordinal: int) -> None:
        self.device = get_device(ordinal)
        self.device.ensure_current()
        cuda = driver()
        self.record, self._create = cuda.cuEventRecord, _by_bindings
        self._elapsed = cuda.cuEventElapsedTime
        self._made: list[int] = []
        self._spare: list[int] = []
        self._records: LaunchRecords | None = None
        self._lock = threading.Lock()
        self._ended = False
        self._make(MORE if self._by_machine_code() else FIRST)
        self._origin = self._spare.pop()
        self._zero = self._begin()

    def start(self, stream: int) -> Pair:
        """Before a launch on a stream; the caller records the second event after it."""
        spare = self._spare
        if len(spare) < ENOUGH:
            self._make(MORE)
        before, after = spare.pop(), spare.pop()
        self.record(before, stream)
        return stream, before, after

    def take(self, known: Any, number: int, args: Sequence[Any]) -> None:
        """Let machine code record launches like this one, as those of the kind of this number."""
        with self._lock:
            if self._ended or not LaunchRecords.possible():
                return
            if self._records is None:
                self._by_machine_code()
                self._records = LaunchRecords(self._create, _destroyer())
            self._records.take(known, number, args)

    def recorded(self) -> Iterator[TimedLaunch]:
        """What machine code has recorded; it records no more."""
        with self._lock:
            self._ended = True
            yield from () if self._records is None else self._records.end()

    def _begin(self) -> int:
        """Record the origin on a stream of its own; when that was."""
        cuda = driver()
        stream = check(cuda.cuStreamCreate(cuda.CUstream_flags.CU_STREAM_NON_BLOCKING.value), "making a stream")
        try:
            zero = time.perf_counter_ns()
            self.record(self._origin, int(stream))
        finally:
            cuda.cuStreamDestroy(stream)
        return zero

    def _by_machine_code(self) -> bool:
        """Whether machine code works with events now."""
        if self._create is _by_bindings and (native.ready() or native.find()):
            from tilewright.launching.words import event_function

            self.record = event_function("record", "cuEventRecord", driver().cuEventRecord)
            self._create = event_function("create", "cuEventCreate", _by_bindings)
        return self._create is not _by_bindings

    def _make(self, count: int) -> None:
        """More events, ahead of the launches that use them. (list.extend and pop are atomic.)"""
        self._by_machine_code()
        places = (ctypes.c_uint64 * count)()
        self._create(ctypes.addressof(places), count)
        made = list(places)
        self._made.extend(made)
        self._spare.extend(made)

    def read(self, before: int, after: int) -> tuple[int, int] | None:
        """When the kernel between two events began and ended, once `wait` has returned; None where that cannot be
        told."""
        try:
            begin = check(self._elapsed(self._origin, before), "cuEventElapsedTime")
            lasts = check(self._elapsed(before, after), "cuEventElapsedTime")
        except CudaError:
            return None
        start = self._zero + round(1e6 * begin)
        return start, start + round(1e6 * lasts)

    def wait(self) -> bool:
        """Wait for all work of the GPU; False where a kernel failed."""
        self.device.ensure_current()
        return int(driver().cuCtxSynchronize()[0]) == 0

    def close(self) -> None:
        """Free the events; those of records go with the last launch that writes there."""
        self._records = None
        destroy = _destroyer()
        for event in self._made:
            destroy(event)


def _destroyer() -> Any:
    return getattr(driver(), "cuEventDestroy", lambda event: None)


def _by_bindings(address: int, count: int) -> None:
    """Events, into so many places from an address on."""
    create, places = driver().cuEventCreate, (ctypes.c_uint64 * count).from_address(address)
    for number in range(count):
        places[number] = int(check(create(0), "cuEventCreate"))
