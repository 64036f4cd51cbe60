"""Copies of the arguments of a launch, which share memory among each other as the originals do."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

from tilewright.launching.host import merge_spans

ALIGN = 256  # bytes: what the code may have been specialised on


def copies(values: Sequence[Any]) -> list[Any]:
    """NumPy arrays and lists of them copied, with strides, alignment and overlaps; other values as they are."""
    import numpy

    def arrays() -> list[Any]:
        return [array for value in values for array in (value if isinstance(value, list) else [value])
                if isinstance(array, numpy.ndarray) and array.size]

    blocks = [(low, high, _copied(low, high)) for low, high in merge_spans([_span(array) for array in arrays()])]

    def copied(array: Any) -> Any:
        if not isinstance(array, numpy.ndarray) or not array.size:
            return array
        place = array.__array_interface__["data"][0]
        low, memory = next((low, memory) for low, high, memory in blocks if low <= place < high)
        return numpy.ndarray(array.shape, array.dtype, memory, place - low, array.strides)

    return [[copied(item) for item in value] if isinstance(value, list) else copied(value) for value in values]


def _span(array: Any) -> tuple[int, int]:
    """First and one past the last byte."""
    low = array.__array_interface__["data"][0]
    reach = [(n - 1) * step for n, step in zip(array.shape, array.strides, strict=True)]
    high = low + sum(r for r in reach if r > 0) + array.itemsize
    return low + sum(r for r in reach if r < 0), high


def _copied(low: int, high: int) -> Any:
    """The bytes of a range at an address of the same alignment."""
    import numpy

    room = numpy.empty(high - low + 2 * ALIGN, numpy.uint8)
    shift = (low - room.__array_interface__["data"][0]) % ALIGN
    memory = room[shift : shift + high - low]
    ctypes.memmove(memory.__array_interface__["data"][0], low, high - low)
    return memory


def groups(values: Sequence[Any]) -> Callable[[Any], tuple[int, int, int]]:
    """Of an array among the values: the number of the memory that it is in, its offset there, the memory's bytes."""
    import numpy

    every = [array for value in values for array in (value if isinstance(value, list) else [value])
             if isinstance(array, numpy.ndarray) and array.size]
    spans = merge_spans([_span(array) for array in every])

    def place(array: Any) -> tuple[int, int, int]:
        at = array.__array_interface__["data"][0]
        for number, (low, high) in enumerate(spans):
            if low <= at < high:
                # Addresses keep their alignment.
                return number, at - low + low % ALIGN, high - low + low % ALIGN
        return len(spans), 0, 0

    return place
