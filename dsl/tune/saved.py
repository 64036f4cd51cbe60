"""The memory that a search's runs write, put back before each configuration and at the end."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from tilewright.arguments.arrays import HOST
from tilewright.arguments.bind import Argument, ArrayList, arrays, leaves
from tilewright.arguments.checks import real
from tilewright.launching.host import merge_spans


class Saved:
    """Copies of what the outputs among `arguments` hold, each where it lies: on the host, or on its GPU."""

    def __init__(self, arguments: Sequence[Argument], written: frozenset[int]) -> None:
        outputs = [real(item) for i, leaf in enumerate(leaves(arguments)) if i in written
                   for item in (leaf.items if isinstance(leaf, ArrayList) else arrays([leaf]))]
        self._copies: list[_HostCopy | _DeviceCopy] = []
        for device in dict.fromkeys(info.device for info in outputs):
            spans = merge_spans([info.span for info in outputs if info.device == device])
            make: Any = _HostCopy if device == HOST else _DeviceCopy
            self._copies += [make(device, low, high - low) for low, high in spans if high > low]

    def restore(self) -> None:
        """Put everything back; what was queued on a GPU before has ended then."""
        for copy in self._copies:
            copy.restore()


class _HostCopy:
    def __init__(self, device: int, address: int, size: int) -> None:
        self._address, self._data = address, ctypes.string_at(address, size)

    def restore(self) -> None:
        ctypes.memmove(self._address, self._data, len(self._data))


class _DeviceCopy:
    def __init__(self, device: int, address: int, size: int) -> None:
        from tilewright.backend_ptx.runtime.driver import get_device
        from tilewright.backend_ptx.runtime.memory import Buffer

        self._device, self._address, self._size = get_device(device), address, size
        self._buffer = Buffer(self._device, size)
        self._copy(self._buffer.pointer, address)

    def restore(self) -> None:
        self._copy(self._address, self._buffer.pointer)

    def _copy(self, target: int, source: int) -> None:
        from tilewright.backend_ptx.runtime.driver import check, driver
        from tilewright.backend_ptx.runtime.memory import synchronise

        self._device.ensure_current()
        synchronise(self._device)  # kernels run on other streams than copies
        check(driver().cuMemcpyDtoDAsync(target, source, self._size, 0), "cuMemcpyDtoDAsync")
        synchronise(self._device)
