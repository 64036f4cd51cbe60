"""Work of the host for the first launch of a process, done by a thread while the driver starts, which takes longer and
runs no Python."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

work: list[Callable[[], object]] = []
"""What the thread calls, put here by those who need it."""
_thread: threading.Thread | None = None


def begin() -> None:
    """Called before the driver is asked for the first time; later calls do nothing."""
    global _thread
    if _thread is not None:
        return
    _thread = threading.Thread(target=_run, name="tilewright-ahead")
    with suppress(ImportError):  # Python's part of the driver, which the thread would only slow down
        import cuda.bindings.driver  # noqa: F401
    _thread.start()


def finish() -> None:
    """Wait for what has begun."""
    if _thread is not None and _thread.ident is not None:
        _thread.join()


def _run() -> None:
    for each in work:
        with suppress(Exception):  # whoever needs it meets that, too, and says what it is
            each()
