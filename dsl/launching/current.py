"""The stream of ours that a thread's launches go to: `with stream:`."""

from __future__ import annotations

import threading
from typing import Any

from tilewright.launching.held import HELD, STREAMED


class _Entered(threading.local):
    streams: tuple[Any, ...] = ()


_ENTERED = _Entered()
_lock = threading.Lock()


def enter(stream: Any) -> None:
    """Launches of this thread that name no stream go to this one, None: to their arrays' own."""
    _ENTERED.streams = (*_ENTERED.streams, stream)
    _count(1)


def leave() -> None:
    """No longer: they go where they went before."""
    _ENTERED.streams = _ENTERED.streams[:-1]
    _count(-1)


def current() -> Any:
    """The stream that this thread has entered last; None where it has entered none. Who is in a hurry asks
    HELD[STREAMED] first."""
    entered = _ENTERED.streams
    return entered[-1] if entered else None


def _count(step: int) -> None:
    with _lock:
        HELD[STREAMED] += step
