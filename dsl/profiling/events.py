"""Times on the GPU: two events around each launch, read when the profile ends."""

from __future__ import annotations

import time
from typing import Any

from tilewright.backend_ptx.runtime.driver import CudaError, check, driver, get_device

FIRST, MORE = 4096, 512  # events made at once
ENOUGH = 64  # for as many threads as may launch at once

Pair = tuple[int, Any, Any]  # the stream, and the events before and after


class DeviceTimer:
    """The events of one GPU. Times are nanoseconds of the host's clock: those of the first event of a stream are taken
    for the moment at which it was recorded."""

    def __init__(self, ordinal: int) -> None:
        self.device = get_device(ordinal)
        self.device.ensure_current()
        cuda = driver()
        self.record, self._create, self._elapsed = cuda.cuEventRecord, cuda.cuEventCreate, cuda.cuEventElapsedTime
        self._origins: dict[int, tuple[int, Any]] = {}
        self._made: list[Any] = []
        self._spare: list[Any] = []
        self._make(FIRST)

    def start(self, stream: int) -> Pair:
        """Before a launch on a stream; the caller records the second event after it."""
        if len(self._spare) < ENOUGH:
            self._make(MORE)
        if stream not in self._origins:
            origin = self._spare.pop()
            self._origins[stream] = time.perf_counter_ns(), origin
            self.record(origin, stream)
        before, after = self._spare.pop(), self._spare.pop()
        self.record(before, stream)
        return stream, before, after

    def _make(self, count: int) -> None:
        """More events, ahead of the launches that use them. (list.extend and pop are atomic.)"""
        self.record, create = _recorder(driver()), self._create
        made = [create(0) for _ in range(count)]
        for result in made:
            if result[0]:
                check(result, "cuEventCreate")
        self._made.extend(event for _, event in made)
        self._spare.extend(int(event) for _, event in made)

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


def _recorder(cuda: Any) -> Any:
    """cuEventRecord, without the bindings where launches go without them."""
    from tilewright.launching import native

    if not native.ready() and not native.find():
        return cuda.cuEventRecord
    from tilewright.launching.words import recorder

    return recorder(cuda.cuEventRecord)
