"""Tables of list arguments in device memory: records of arrays and their tensor maps, made once for each content."""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Sequence
from itertools import accumulate

from tilewright.backend_ptx.runtime.driver import Device, check, driver
from tilewright.tileir.events import timed

TABLE_ALIGN = 128  # a tensor map's bytes are one line of the cache, and cuMemAlloc's addresses are multiples of 256
MAX_KEPT = 256  # contents of one plan; lists that are new in every launch must not pile up

# What graphs refer to: a replay reads the tables that its launches were captured with.
_captured: list[DeviceTables] = []


class DeviceTables:
    """Bytes of the host in memory of a device, at `addresses`; freed with the object."""

    __slots__ = ("addresses", "_pointer", "_free")

    def __init__(self, device: Device, contents: Sequence[bytes]) -> None:
        padded = [content.ljust(-(-len(content) // TABLE_ALIGN) * TABLE_ALIGN, b"\0") for content in contents]
        data = b"".join(padded)
        device.ensure_current()
        self._free = driver().cuMemFree
        self._pointer = 0
        with timed("memory", "copy a list's table", bytes=len(data)):
            self._pointer = _resident(data)
        self.addresses = tuple(accumulate(map(len, padded[:-1]), initial=self._pointer))

    def outlive_captured(self, stream: int) -> None:
        """Last as long as the process where what is queued on the stream now is captured by a graph."""
        if is_capturing(stream) and self not in _captured:
            _captured.append(self)

    def __del__(self) -> None:
        if getattr(self, "_pointer", 0) and sys is not None and not sys.is_finalizing():
            self._free(self._pointer)


class KeptTables:
    """The tables that launches of one plan have used, by their content."""

    __slots__ = ("_device", "_kept", "_lock")

    def __init__(self, device: Device) -> None:
        self._device = device
        self._kept: dict[bytes, DeviceTables] = {}
        self._lock = threading.Lock()

    def at(self, key: bytes, contents: Callable[[], Sequence[bytes]], stream: int) -> DeviceTables:
        """Tables with these contents, which `key` stands for. They last as long as what has been queued on the stream,
        and as the process where the stream is being captured."""
        self._device.ensure_current()
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                if len(self._kept) >= MAX_KEPT and _all_done():
                    self._kept.clear()
                found = self._kept[key] = DeviceTables(self._device, contents())
            found.outlive_captured(stream)
        return found


def _all_done() -> bool:
    """Wait for the kernels that are queued, which read tables. False where nobody may wait: a stream is captured."""
    [status] = driver().cuCtxSynchronize()
    return not int(status)


def is_capturing(stream: int) -> bool:
    """Whether what is queued on a stream of the current context becomes a part of a graph instead of being executed."""
    return bool(int(check(driver().cuStreamIsCapturing(stream), "asking whether a stream is captured")))


def _resident(data: bytes) -> int:
    """New memory of the current context's device with these bytes, there before anything that is queued from now on.

    A stream of its own: while another is captured, neither it nor the default one may be used. For the same reason this
    thread leaves the mode in which captures forbid allocations.
    """
    cuda = driver()
    relaxed = cuda.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
    before = check(cuda.cuThreadExchangeStreamCaptureMode(relaxed), "making a list's table")
    try:
        pointer = int(check(cuda.cuMemAlloc(len(data)), "allocating a list's table"))
        source = ctypes.create_string_buffer(data, len(data))
        stream = check(cuda.cuStreamCreate(cuda.CUstream_flags.CU_STREAM_NON_BLOCKING.value), "making a stream")
        copied = cuda.cuMemcpyHtoDAsync(pointer, ctypes.addressof(source), len(data), stream)
        waited = cuda.cuStreamSynchronize(stream)
        cuda.cuStreamDestroy(stream)
        check(copied, "copying a list's table")
        check(waited, "copying a list's table")
    finally:
        cuda.cuThreadExchangeStreamCaptureMode(before)
    return pointer
