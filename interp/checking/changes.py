"""What has become of memory since some moment: the bytes that differ, however often they have been written."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.interp.memory import Region

MOST = 4096
"""Bytes that are remembered. A loop that changes more is taken for one that goes on."""


class Changes:
    """The bytes of memory that are not what they were when this was made."""

    def __init__(self) -> None:
        self._before: dict[int, int] = {}
        self._many = False

    @property
    def none(self) -> bool:
        """Is all memory as it was?"""
        return not self._before and not self._many

    def note(self, addresses: Any, before: Any, after: Any) -> None:
        """Bytes have been overwritten."""
        if self._many or len(addresses) > MOST:
            self._many = True
            return
        for address, old, new in zip(addresses.tolist(), before.tolist(), after.tolist(), strict=True):
            if self._before.setdefault(address, old) == new:
                del self._before[address]
        self._many = len(self._before) > MOST


class Written:
    """The bytes of a region, before and after a write."""

    def __init__(self, region: Region) -> None:
        self._window = region.array.window
        offsets, mask = np.broadcast_to(region.offsets(), region.shape), region.mask
        if mask is not None:
            offsets = offsets[np.broadcast_to(mask, region.shape)]
        size = region.array.memory.itemsize
        self._places = np.unique(np.add.outer(np.ravel(offsets), np.arange(size)))
        self._before = self._window[self._places]

    def tell(self, watchers: list[Changes]) -> None:
        """It has happened: tell what is another byte now."""
        after = self._window[self._places]
        changed = after != self._before
        if changed.any():
            addresses = self._window.__array_interface__["data"][0] + self._places[changed]
            for changes in watchers:
                changes.note(addresses, self._before[changed], after[changed])
