"""What streams of anyone are to the driver: a device and a handle."""

from __future__ import annotations

from typing import Any, NamedTuple

from tilewright.launching.current import current
from tilewright.launching.streams import is_ours, stream_handle

_NOT_READY = 600


class Queue(NamedTuple):
    """A stream; `device` is None where there is no GPU."""

    device: int | None
    handle: int


def queue_of(stream: Any = None, device: int | None = None) -> Queue:
    """The queue of a stream; without one, of the current one, else the default stream of a device. TypeError for what
    is no stream."""
    found = current() if stream is None else stream
    if is_ours(found):
        return Queue(found.device, found.handle)
    from tilewright.backend_ptx.runtime import driver

    handle = 0 if found is None else stream_handle(found)
    if not driver.available():
        return Queue(None, handle)
    return Queue(device_of(found) if device is None else device, handle)


def device_of(stream: Any) -> int:
    """The device of a stream that a launch would take: those of torch, CuPy and cuda-core know theirs; else the current
    one."""
    for name in ("device_index", "device_id", "device"):
        found = getattr(stream, name, None)
        found = getattr(found, "device_id", found)
        if type(found) is int and found >= 0:
            return found
    from tilewright.backend_ptx.runtime.driver import current_ordinal

    return current_ordinal()


def finished(ordinal: int, name: str, handle: Any) -> bool:
    """What a query of the driver answers; RuntimeError for kernels that failed."""
    from tilewright.backend_ptx.runtime.driver import check, driver, get_device

    get_device(ordinal).ensure_current()
    result = getattr(driver(), name)(handle)
    if int(result[0]) == _NOT_READY:
        return False
    check(result, "an earlier kernel on the stream")
    return True
