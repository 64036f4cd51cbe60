"""Settings of the process, changed while any thread needs that."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable

Restore = Callable[[], object]


class WhileInside:
    """A context in which a setting of the process is another: from when the first thread enters until the last one has
    left. `change` sets it and gives what puts it back."""

    def __init__(self, change: Callable[[], Restore]) -> None:
        self._change = change
        self._lock = threading.Lock()
        self._inside = 0
        self._restore: Restore = change

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._restore = self._change()
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._restore()


def _stop_collecting() -> Restore:
    if not gc.isenabled():
        return lambda: None
    gc.disable()
    return gc.enable


uncollected = WhileInside(_stop_collecting)
"""Python looks for no garbage in cycles. A step of a compilation makes tens of thousands of objects that live until its
end: looking at them again and again takes a tenth of its time."""
