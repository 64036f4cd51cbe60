"""What happens beside launches, told to those who listen: compilations, the cache, memory operations, waits.

    with timed("compile", name, executor="GPU") as facts:
        ...
        facts["cache"] = "hit"

Nobody listens but in a profile. None of these places is on the short way of a launch.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from tilewright.tileir.records import record


@record
class Event:
    """`kind`: "compile", "memory" or "wait". `start` and `end` in nanoseconds of `time.perf_counter_ns`; `thread` is
    the number of the thread; `facts` depend on the kind."""

    kind: str
    name: str
    start: int
    end: int
    thread: int
    facts: dict[str, Any]


LISTENERS: list[Callable[[Event], None]] = []
"""Who is told of each event, in the thread where it happens."""


@contextlib.contextmanager
def timed(kind: str, name: str, **facts: Any) -> Iterator[dict[str, Any]]:
    """An event that lasts as long as the body, which may add facts. One that fails has the fact "failed"."""
    if not LISTENERS:
        yield {}
        return
    start = time.perf_counter_ns()
    try:
        yield facts
    except BaseException as error:
        facts["failed"] = type(error).__name__
        raise
    finally:
        event = Event(kind, name, start, time.perf_counter_ns(), threading.get_ident(), facts)
        for listen in tuple(LISTENERS):
            listen(event)
