"""Segments of memory: a stretch of bytes, what is known of each byte, and what that forbids."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tilewright.backend_ptx.simulator.errors import OutOfRange, Race
from tilewright.backend_ptx.simulator.memory.history import History

Array = np.ndarray[Any, Any]
READ_GRAIN = 16
_RAW = {1: "u1", 2: "u2", 4: "u4", 8: "u8"}


@dataclass
class Segment:
    """A stretch of memory. `base` is the address of `data[0]`."""

    name: str
    base: int
    data: Array  # uint8
    writable: bool = True
    outlives: bool = False  # an array, which other launches access too
    valid: Array | None = None  # bool per byte: belongs to the array; None for all
    written: Array | None = None  # bool per byte: something wrote it; None for all
    pending: Array | None = None  # number of asynchronous copies in flight per byte
    reading: Array | None = None  # number of asynchronous reads in flight per 16 bytes
    guarded: Array | None = None  # bool per byte: belongs to an mbarrier
    history: History | None = None
    # Bytes read through the read-only path, and bytes stored, by the whole launch.
    constant: Array | None = None
    stored: Array | None = None
    _windows: dict[int, Array] = field(default_factory=dict)

    def window(self, size: int) -> Array:
        """`data` as an array of overlapping `size`-byte elements, one per byte offset."""
        found = self._windows.get(size)
        if found is None:
            count = max(0, len(self.data) - size + 1)
            kind = _RAW.get(size, f"V{size}")
            found = np.ndarray((count,), kind, buffer=self.data, strides=(1,)) if count else np.empty(0, kind)
            self._windows[size] = found
        return found

    def find(self, address: int, thread: int, *, anywhere: bool = False) -> int:
        """Byte offset of one address, inside or not. `anywhere`: as for `place`."""
        return address - self.base

    def place(self, addresses: Array, size: int, threads: Array, *, anywhere: bool = False) -> Array:
        """Byte offsets of accesses; all must be inside.

        `anywhere`: in the memory of any block, where CTAs have one each (cluster.py).
        """
        offsets = (addresses - np.uint64(self.base)).view(np.int64)
        bad: Array = (offsets < 0) | (offsets > len(self.data) - size)
        if bad.any():
            raise OutOfRange(f"{size} bytes at {self.at(offsets[bad][0])}, of {len(self.data)} bytes", threads[bad])
        self._check_valid(offsets, size, threads)
        return offsets

    def _check_valid(self, offsets: Array, size: int, threads: Array) -> None:
        if self.valid is None:
            return
        between = ~bytes_at(self.valid, offsets, size).all(axis=1)
        if between.any():
            raise OutOfRange(
                f"{size} bytes at {self.at(offsets[between][0])} lie between its elements", threads[between]
            )

    def at(self, offset: int) -> str:
        """A place in words."""
        return f"offset {int(offset)} of {self.name}"

    def check_guard(self, offsets: Array, size: int, threads: Array) -> None:
        """No mbarrier is there."""
        if self.guarded is None:
            return
        bad = bytes_at(self.guarded, offsets, size).any(axis=1)
        if bad.any():
            raise Race(f"touches an mbarrier at {self.at(offsets[bad][0])}", threads[bad])

    def check_unread(self, offsets: Array, threads: Array) -> None:
        """No asynchronous read of the bytes is in flight."""
        if self.reading is None:
            return
        bad = self.reading[offsets // READ_GRAIN] > 0
        if bad.any():
            raise Race(
                f"race: writes {self.at(offsets[bad][0])}, which a matrix unit or bulk store may still be reading",
                threads[bad],
            )

    def mark_constant(self, offsets: Array, size: int, threads: Array) -> None:
        """The bytes are read by the read-only path: nobody may write them in this launch."""
        if self.stored is not None and bytes_at(self.stored, offsets, size).any():
            raise Race(f"a read-only load of {self.name}, which this launch writes", threads)
        if self.constant is None:
            self.constant = np.zeros(len(self.data), bool)
        self.constant[offsets[:, None] + np.arange(size)] = True

    def put(self, offsets: Array, data: Array, threads: Array) -> None:
        """Store `data` [accesses, size]."""
        size = data.shape[1]
        window = self.window(size)
        raw = np.ascontiguousarray(data).view(window.dtype)[:, 0]
        window[offsets] = raw
        if self.written is not None:
            self.written[offsets[:, None] + np.arange(size)] = True
        back = window[offsets].view(np.uint8).reshape(data.shape)
        if not (back == data).all():
            bad = (back != data).any(axis=1)
            raise Race(
                f"race: two threads write different values to {self.at(offsets[bad][0])} in one instruction",
                threads[bad],
            )


def bytes_at(flags: Array, offsets: Array, size: int) -> Array:
    """flags[offset : offset + size] for every offset, [offsets, size]."""
    return flags[offsets[:, None] + np.arange(size)]


def segment_of_arrays(name: str, arrays: Sequence[Array], base: int) -> tuple[Segment, list[int]]:
    """A segment over the memory of arrays that overlap, and the address of the first element of each.

    Gaps of strided arrays are not valid. The low four bits of the real address are kept, because the generated code
    relies on the alignment that the launch found.
    """
    firsts = [a.__array_interface__["data"][0] for a in arrays]
    ranges = [_byte_range(a) for a in arrays if a.size]
    if not ranges:
        return Segment(name, base, np.empty(0, np.uint8)), [base] * len(arrays)
    low, high = min(r[0] for r in ranges), max(r[1] for r in ranges)
    memory: Any = (ctypes.c_uint8 * (high - low)).from_address(low)
    data: Array = np.frombuffer(memory, np.uint8)
    valid = None
    if all(high - low != a.size * a.itemsize for a in arrays):
        valid = np.zeros(high - low, bool)
        for array, first in zip(arrays, firsts, strict=True):
            elements = np.lib.stride_tricks.as_strided(
                valid[first - low :], (*array.shape, array.itemsize), (*array.strides, 1)
            )
            elements[...] = True
    base += low % 16
    writable = any(a.flags.writeable for a in arrays)
    segment = Segment(name, base, data, writable=writable, outlives=True, valid=valid)
    return segment, [base + first - low for first in firsts]


def _byte_range(array: Array) -> tuple[int, int]:
    """The first byte of an array that has elements, and one past its last."""
    first = array.__array_interface__["data"][0]
    reach = [(n - 1) * s for n, s in zip(array.shape, array.strides, strict=True)]
    return first + sum(r for r in reach if r < 0), first + sum(r for r in reach if r > 0) + array.itemsize
