"""Memory in the order of streams: on a GPU from the driver's pool, on the host plain or page-locked."""

from __future__ import annotations

import ctypes
import sys
from contextlib import suppress
from typing import Any

from tilewright.streams.event import Event
from tilewright.streams.queues import Queue

ALIGNMENT = 256  # of what GPU allocators return, in bytes; host memory in their place has the same


def on_gpu(queue: Queue, size: int, kept: Any) -> Any:
    """A Buffer of a GPU. `kept`: a stream that must not go before the memory is freed in its order."""
    from tilewright.backend_ptx.runtime.driver import get_device
    from tilewright.streams.pool import StreamBuffer

    assert queue.device is not None
    return StreamBuffer(get_device(queue.device), size, queue.handle, kept)


class HostBuffer:
    """Host memory in the place of a GPU's: `memory` is a NumPy array of bytes."""

    __slots__ = ("memory", "pointer", "size")

    stream = 0

    def __init__(self, size: int) -> None:
        import numpy

        self.size = size
        whole = numpy.empty(size + ALIGNMENT, numpy.uint8)
        skipped = -whole.ctypes.data % ALIGNMENT
        self.memory = whole[skipped : skipped + size]
        self.pointer = self.memory.ctypes.data if size else 0

    def use_on(self, queue: Queue) -> None:
        """All work is done when a call returns."""


class PinnedBuffer:
    """Page-locked host memory, which copies of a GPU read and write while the host goes on. `pending`: the event behind
    the copy that came last, and `source`, what it reads; the memory outlives both."""

    __slots__ = ("pointer", "size", "pending", "source", "_free")

    def __init__(self, size: int, device: int) -> None:
        from tilewright.backend_ptx.runtime.driver import check, driver, get_device

        get_device(device).ensure_current()
        cuda = driver()
        self.size = size
        self.pending: Any = None
        self.source: Any = None
        self.pointer = int(check(cuda.cuMemHostAlloc(max(size, 1), 1), f"page-locking {size} bytes"))  # portable
        self._free = cuda.cuMemFreeHost

    def view(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """A NumPy array in this memory, which it keeps."""
        import numpy

        memory: Any = (ctypes.c_char * max(self.size, 1)).from_address(self.pointer)
        memory._pinned = self
        return numpy.ndarray(shape, dtype, memory)

    def __del__(self) -> None:
        if getattr(self, "_free", None) is None or sys is None or sys.is_finalizing():  # a process that ends frees all
            return
        if self.pending is not None:
            # Kernels that failed: whoever asks for results hears of them. And a process may be ending.
            with suppress(Exception):
                self.pending.synchronize()
        self._free(self.pointer)


def pinned_of(array: Any) -> PinnedBuffer | None:
    """The page-locked memory of ours that a NumPy array is a view of."""
    while array is not None:
        found = getattr(array, "_pinned", None)
        if isinstance(found, PinnedBuffer):
            return found
        array = array.obj if isinstance(array, memoryview) else getattr(array, "base", None)
    return None


_in_flight: list[PinnedBuffer] = []
"""Memory from which a copy may still read; nothing else keeps it."""


def keep_until_done(buffer: PinnedBuffer, queue: Queue) -> None:
    """Keep page-locked memory until a queue has come to this point. What was kept before and is done goes now."""
    buffer.pending = Event(timing=False).record_on(queue)
    _in_flight[:] = [kept for kept in _in_flight if not _is_done(kept)]
    _in_flight.append(buffer)


def _is_done(buffer: PinnedBuffer) -> bool:
    try:
        done: bool = buffer.pending.query()
    except RuntimeError:  # kernels that failed: whoever asks for results hears of them
        done = True
    return done
