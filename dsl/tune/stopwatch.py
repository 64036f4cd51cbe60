"""The time that a launch takes on the GPU, between two events of its stream."""

from __future__ import annotations

from tilewright.backend_ptx.runtime.driver import Device, check, device_attribute, driver
from tilewright.backend_ptx.runtime.memory import Buffer, synchronise

# Twice the cache, so that nothing of a run before is left in it; at least so much that filling it takes the GPU longer
# than the host needs to queue a launch (some 10 us).
CACHES_FILLED = 2
LEAST_FILLED = 64 << 20


class Stopwatch:
    """Times one launch at a time: `start(stream)`, the launch, `stop(stream)`.

    Before the first event a buffer is filled. That empties the L2 cache of earlier runs, and keeps the GPU busy while
    the host queues the launch, so that the time between the events is the kernel's alone.
    """

    def __init__(self, device: Device) -> None:
        cuda = driver()
        device.ensure_current()
        cache = device_attribute(device.ordinal, "L2_CACHE_SIZE")
        self._device = device
        self._filler = Buffer(device, max(CACHES_FILLED * cache, LEAST_FILLED))
        synchronise(device)  # the buffer was allocated on the default stream; launches may be on any
        self._first = check(cuda.cuEventCreate(0), "cuEventCreate")
        self._second = check(cuda.cuEventCreate(0), "cuEventCreate")

    def start(self, stream: int) -> None:
        cuda = driver()
        self._device.ensure_current()
        check(cuda.cuMemsetD8Async(self._filler.pointer, 0, self._filler.size, stream), "filling the cache")
        check(cuda.cuEventRecord(self._first, stream), "cuEventRecord")

    def stop(self, stream: int) -> float:
        """Microseconds from the first event to now; waits for the stream's work up to here. Raises CudaError where a
        kernel failed."""
        cuda = driver()
        check(cuda.cuEventRecord(self._second, stream), "cuEventRecord")
        check(cuda.cuEventSynchronize(self._second), "the kernel, or waiting for it,")
        return 1e3 * float(check(cuda.cuEventElapsedTime(self._first, self._second), "cuEventElapsedTime"))
