"""Order between two queues, without the host waiting."""

from __future__ import annotations

from tilewright.streams.event import Event
from tilewright.streams.queues import Queue


def order(before: Queue, after: Queue) -> None:
    """What `after` queues from now on comes after all that `before` has queued."""
    if before == after or before.device is None:
        return
    from tilewright.backend_ptx.runtime.driver import check, driver, get_device

    event = Event(timing=False).record_on(before)
    get_device(after.device or 0).ensure_current()
    check(driver().cuStreamWaitEvent(after.handle, event.handle, 0), "waiting for an event")
