"""Memory of a GPU's pool that several streams use."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from tilewright.backend_ptx.runtime.driver import Device
from tilewright.backend_ptx.runtime.memory import Buffer
from tilewright.streams.ordering import order
from tilewright.streams.queues import Queue


class StreamBuffer(Buffer):
    """A buffer that is allocated and freed in the order of a stream, after what others that use it have queued."""

    __slots__ = ("_kept", "_users")

    def __init__(self, device: Device, size: int, stream: int, kept: Any) -> None:
        self._kept = kept
        self._users: list[Queue] = []
        super().__init__(device, size, stream)

    def use_on(self, queue: Queue) -> None:
        """Another stream uses the memory, too."""
        if queue.handle != self.stream and queue not in self._users:
            self._users.append(queue)

    def __del__(self) -> None:
        for queue in getattr(self, "_users", ()):
            with suppress(Exception):  # a stream that is gone has nothing left to do, nor a process that ends
                order(queue, Queue(self.device.ordinal, self.stream))
        super().__del__()
