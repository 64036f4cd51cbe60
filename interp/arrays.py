"""Arrays in memory as the interpreter sees them: a window of bytes, offsets, extents and strides."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import Any

import numpy as np

from tilewright.interp.formats import array_dtype, format_of
from tilewright.tileir.diagnostics import TileTypeError
from tilewright.tileir.dtypes import DType


class _Bytes:
    """Carries an address range to NumPy through the array interface."""

    def __init__(self, address: int, size: int, readonly: bool) -> None:
        self.__array_interface__ = {"data": (address, readonly), "shape": (size,), "typestr": "|u1", "version": 3}


class ArrayRef:
    """An array argument or a view of one.

    `window` is all bytes between the lowest and the highest element of the whole argument, so every access is
    checked by NumPy against it. `offset` (bytes) and `extents` (elements) are ints, or int64 arrays over the chunk
    where they differ by block; `strides` are bytes. `unit` divides every distance between two elements; `line` are
    all elements `unit` bytes apart (None: made from the window when asked for). `name` is that of the argument.
    """

    __slots__ = ("name", "window", "memory", "offset", "extents", "strides", "unit", "_line")

    def __init__(self, name: str, window: Any, memory: np.dtype[Any], offset: Any, extents: tuple[Any, ...],
                 strides: tuple[int, ...], unit: int, line: Any = None) -> None:
        self.name = name
        self.window = window
        self.memory = memory
        self.offset = offset
        self.extents = extents
        self.strides = strides
        self.unit = unit
        self._line = line

    @property
    def line(self) -> Any:
        if self._line is None:
            size = self.window.size
            elements = (size - self.memory.itemsize) // self.unit + 1 if size else 0
            self._line = np.ndarray((elements,), self.memory, self.window, 0, (self.unit,))
        return self._line

    def view(self, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
        """The elements at a byte offset, as a NumPy view; an error if any lies outside the window."""
        return np.ndarray(shape, self.memory, self.window, offset, strides)

    @property
    def repeats(self) -> bool:
        """May two positions be one element? With strides of 0 and windows that overlap; unknown where extents vary."""
        reach = self.memory.itemsize
        if self.varies:
            return True
        for stride, extent in sorted((abs(s), n) for s, n in zip(self.strides, self.extents, strict=True) if n > 1):
            if stride < reach:
                return True
            reach += stride * (extent - 1)
        return False

    @property
    def varies(self) -> bool:
        return isinstance(self.offset, np.ndarray) or any(isinstance(n, np.ndarray) for n in self.extents)

    def take(self, blocks: Any) -> ArrayRef:
        """The same array for some of the blocks."""
        if not self.varies:
            return self
        offset = self.offset[blocks] if isinstance(self.offset, np.ndarray) else self.offset
        extents = tuple(n[blocks] if isinstance(n, np.ndarray) else n for n in self.extents)
        return ArrayRef(self.name, self.window, self.memory, offset, extents, self.strides, self.unit, self.line)

    def spread(self, count: int) -> ArrayRefs:
        """As a value that may differ by block."""
        return ArrayRefs([(self, np.arange(count))], count)

    def sliced(self, axis: int, start: Any, stop: Any) -> ArrayRef:
        """The view start:stop along an axis; bounds are ints or int64 arrays over the chunk."""
        extents = tuple(stop - start if k == axis else n for k, n in enumerate(self.extents))
        offset = self.offset + start * self.strides[axis]
        return ArrayRef(self.name, self.window, self.memory, offset, extents, self.strides, self.unit, self._line)

    def raw(self) -> ArrayRef:
        """All whole elements from the first one to the end of the argument's memory, side by side."""
        size = self.memory.itemsize
        extent = (self.window.size - self.offset) // size if self.window.size else 0 * self.offset
        elements = max(self.window.size // size, 0)
        line: Any = np.ndarray((elements,), self.memory, self.window, 0, (size,))
        return ArrayRef(self.name, self.window, self.memory, self.offset, (extent,), (size,), size, line)


class ArrayRefs:
    """Arrays that differ by block: groups of (array, the blocks that have it)."""

    __slots__ = ("groups", "count")

    def __init__(self, groups: list[tuple[ArrayRef, Any]], count: int) -> None:
        self.groups = groups
        self.count = count

    def take(self, blocks: Any) -> ArrayRefs:
        """The same arrays for some of the blocks."""
        place = np.full(self.count, -1, np.int64)
        place[blocks] = np.arange(len(blocks))
        groups = []
        for ref, members in self.groups:
            new = place[members]
            kept = np.flatnonzero(new >= 0)
            if kept.size:
                order = kept[np.argsort(new[kept], kind="stable")]
                groups.append((ref.take(order), new[order]))
        return ArrayRefs(groups, len(blocks))

    def spread(self, count: int) -> ArrayRefs:
        return self


def merge_arrays(parts: Sequence[tuple[Any, Any]], count: int) -> ArrayRefs:
    """Array values of disjoint sets of blocks, given as (value, blocks), as one value."""
    groups: list[tuple[ArrayRef, Any]] = []
    for value, blocks in parts:
        inner = value.groups if isinstance(value, ArrayRefs) else [(value, np.arange(len(blocks)))]
        groups += [(ref, blocks[members]) for ref, members in inner]
    return ArrayRefs(groups, count)


def bind_array(array: Any, dtype: DType, rank: int, name: str) -> ArrayRef:
    """An ArrayRef for a NumPy array, after checking its dtype and rank; `name` is that of the parameter."""
    if not isinstance(array, np.ndarray):
        raise TileTypeError(f"argument {quoted(name)} must be an array, not {type(array).__name__}")
    if array.dtype != array_dtype(dtype) and not (array.dtype.itemsize == 1 and array.dtype == format_of(dtype).memory):
        raise TileTypeError(f"argument {quoted(name)} must hold {dtype}, not {array.dtype}")
    if array.ndim != rank:
        raise TileTypeError(f"argument {quoted(name)} must have rank {rank}, not {array.ndim}")
    return ref_of(array, format_of(dtype).memory, name)


def quoted(name: str) -> str:
    """A parameter's name in a message; one without a name stands there by its number."""
    return name if name.startswith("#") else f'"{name}"'


def ref_of(array: np.ndarray[Any, Any], memory: np.dtype[Any], name: str) -> ArrayRef:
    """The ArrayRef of a NumPy array with any strides."""
    low = high = 0
    for n, s in zip(array.shape, array.strides, strict=True):
        if s < 0:
            low += s * (n - 1)
        else:
            high += s * (n - 1)
    size = high - low + array.itemsize if array.size else 0
    address = array.__array_interface__["data"][0]
    window = np.asarray(_Bytes(address + low if size else address, size, not array.flags.writeable))
    unit = gcd(*array.strides) or array.itemsize
    return ArrayRef(name, window, memory, -low if size else 0, array.shape, array.strides, unit)


def byte_range(ref: ArrayRef) -> tuple[int, int]:
    """First address and end of the memory of an argument."""
    start = ref.window.__array_interface__["data"][0]
    return start, start + ref.window.size
