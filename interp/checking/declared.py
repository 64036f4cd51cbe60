"""Arrays that users declare uninitialised, for as long as they live."""

from __future__ import annotations

import weakref
from typing import Any

_DECLARED: dict[int, tuple[Any, tuple[int, int]]] = {}


def declare(array: Any) -> None:
    """Say that the elements of a NumPy array hold nothing, until a checked launch has written them all."""
    low = high = array.__array_interface__["data"][0]
    for extent, stride in zip(array.shape, array.strides, strict=True):
        low, high = low + min(stride, 0) * (extent - 1), high + max(stride, 0) * (extent - 1)
    key = id(array)
    _DECLARED[key] = weakref.ref(array, lambda _: _DECLARED.pop(key, None)), (low, high + array.itemsize)


def declared() -> list[tuple[int, int]]:
    """The address ranges of the declared arrays."""
    return [span for _, span in _DECLARED.values()]


def forget(span: tuple[int, int]) -> None:
    """The memory of an array has been written."""
    for key in [key for key, (_, known) in _DECLARED.items() if span[0] <= known[0] and known[1] <= span[1]]:
        del _DECLARED[key]
