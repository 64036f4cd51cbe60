"""Times on the GPU: two events around each launch, read when the profile ends."""

from __future__ import annotations

import ctypes
import time

from tilewright.backend_ptx.runtime.driver import CudaError, check, driver, get_device
from tilewright.launching import native

FIRST, MORE = 8192, 512  # events made at once: by machine code each takes a quarter of a microsecond
ENOUGH = 64  # for as many threads as may launch at once

Pair = tuple[int, int, int]  # the stream, and the events before and after


class DeviceTimer:
    """The events of one GPU. Times are nanoseconds of the host's clock: those of the first event of a stream are taken
    for the moment at which it was recorded."""

    def __init__(self, ordinal: int) -> None:
        self.device = get_device(ordinal)
        self.device.ensure_current()
        cuda = driver()
        self.record, self._create = cuda.cuEventRecord, _by_bindings
        self._elapsed = cuda.cuEventElapsedTime
        self._origins: dict[int, tuple[int, int]] = {}
        self._made: list[int] = []
        self._spare: list[int] = []
        self._make(FIRST)

    def start(self, stream: int) -> Pair:
        """Before a launch on a stream; the caller records the second event after it."""
        spare = self._spare
        if len(spare) < ENOUGH:
            self._make(MORE)
        if stream not in self._origins:
            origin = spare.pop()
            self._origins[stream] = time.perf_counter_ns(), origin
            self.record(origin, stream)
        before, after = spare.pop(), spare.pop()
        self.record(before, stream)
        return stream, before, after

    def _make(self, count: int) -> None:
        """More events, ahead of the launches that use them. (list.extend and pop are atomic.)"""
        if self._create is _by_bindings and (native.ready() or native.find()):
            from tilewright.launching.words import event_function

            self.record = event_function("record", "cuEventRecord", driver().cuEventRecord)
            self._create = event_function("create", "cuEventCreate", _by_bindings)
        places = (ctypes.c_uint64 * count)()
        self._create(ctypes.addressof(places), count)
        made = list(places)
        self._made.extend(made)
        self._spare.extend(made)

    def read(self, pair: Pair) -> tuple[int, int] | None:
        """When the kernel began and ended, once `wait` has returned; None where that cannot be told."""
        stream, before, after = pair
        zero, origin = self._origins[stream]
        try:
            begin = check(self._elapsed(origin, before), "cuEventElapsedTime")
            lasts = check(self._elapsed(before, after), "cuEventElapsedTime")
        except CudaError:
            return None
        start = zero + round(1e6 * begin)
        return start, start + round(1e6 * lasts)

    def wait(self) -> bool:
        """Wait for all work of the GPU; False where a kernel failed."""
        self.device.ensure_current()
        return int(driver().cuCtxSynchronize()[0]) == 0

    def close(self) -> None:
        """Free the events."""
        destroy = getattr(driver(), "cuEventDestroy", None)
        if destroy is None:
            return
        for event in self._made:
            destroy(event)


def _by_bindings(address: int, count: int) -> None:
    """Events, into so many places from an address on."""
    create, places = driver().cuEventCreate, (ctypes.c_uint64 * count).from_address(address)
    for number in range(count):
        places[number] = int(check(create(0), "cuEventCreate"))
