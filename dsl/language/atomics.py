"""Atomic updates of array elements."""

from __future__ import annotations

from typing import Any

from tilewright.language.builtin import builtin
from tilewright.language.classes import Array, Tile
from tilewright.tileir.enums import MemoryOrder, MemoryScope

__all__ = [
    "atomic_cas", "atomic_xchg", "atomic_add", "atomic_max", "atomic_min", "atomic_and", "atomic_or", "atomic_xor",
]


@builtin("atomic_cas")
def atomic_cas(
    array: Array, indices: Any, expected: Any, desired: Any, /, *, check_bounds: bool = True,
    memory_order: MemoryOrder = MemoryOrder.ACQ_REL, memory_scope: MemoryScope = MemoryScope.DEVICE,
) -> Tile:
    """Write `desired` where an element equals `expected` (bit for bit), and give the old elements.

    Indexing as in `gather`; each element is atomic, elements are unordered, those outside the array do nothing.
    The array is int32, int64, uint32 or uint64, float32 or float64.
    """


@builtin("atomic_xchg")
def atomic_xchg(
    array: Array, indices: Any, update: Any, /, *, check_bounds: bool = True,
    memory_order: MemoryOrder = MemoryOrder.ACQ_REL, memory_scope: MemoryScope = MemoryScope.DEVICE,
) -> Tile:
    """Write `update`, and give the old elements.

    Indexing as in `gather`; each element is atomic, elements are unordered, those outside the array do nothing.
    The array is int32, int64, uint32 or uint64, float32 or float64.
    """


@builtin("atomic_add")
def atomic_add(
    array: Array, indices: Any, update: Any, /, *, check_bounds: bool = True,
    memory_order: MemoryOrder = MemoryOrder.ACQ_REL, memory_scope: MemoryScope = MemoryScope.DEVICE,
) -> Tile:
    """Add `update`, and give the old elements.

    Indexing as in `gather`; each element is atomic, elements are unordered, those outside the array do nothing.
    The array is int32, int64, uint32 or uint64, float16, bfloat16 (a GPU of compute capability 9.0), float32 (GPUs add
    subnormal numbers as zeros) or float64. The order of additions is unspecified, and float sums with it.

        ct.atomic_add(counts, bins, 1, memory_order=ct.MemoryOrder.RELAXED)  # a sum that nobody waits for
    """


@builtin("atomic_max")
def atomic_max(
    array: Array, indices: Any, update: Any, /, *, check_bounds: bool = True,
    memory_order: MemoryOrder = MemoryOrder.ACQ_REL, memory_scope: MemoryScope = MemoryScope.DEVICE,
) -> Tile:
    """Take the maximum with `update`, and give the old elements.

    Indexing as in `gather`; each element is atomic, elements are unordered, those outside the array do nothing.
    The array is int32, int64, uint32 or uint64.
    """


@builtin("atomic_min")
def atomic_min(
    array: Array, indices: Any, update: Any, /, *, check_bounds: bool = True,
    memory_order: MemoryOrder = MemoryOrder.ACQ_REL, memory_scope: MemoryScope = MemoryScope.DEVICE,
) -> Tile:
    """Take the minimum with `update`, and give the old elements.

    Indexing as in `gather`; each element is atomic, elements are unordered, those outside the array do nothing.
    The array is int32, int64, uint32 or uint64.
    """


@builtin("atomic_and")
def atomic_and(
    array: Array, indices: Any, update: Any, /, *, check_bounds: bool = True,
    memory_order: MemoryOrder = MemoryOrder.ACQ_REL, memory_scope: MemoryScope = MemoryScope.DEVICE,
) -> Tile:
    """Combine with `update` by bitwise and, and give the old elements.

    Indexing as in `gather`; each element is atomic, elements are unordered, those outside the array do nothing.
    The array is int32, int64, uint32 or uint64.
    """


@builtin("atomic_or")
def atomic_or(
    array: Array, indices: Any, update: Any, /, *, check_bounds: bool = True,
    memory_order: MemoryOrder = MemoryOrder.ACQ_REL, memory_scope: MemoryScope = MemoryScope.DEVICE,
) -> Tile:
    """Combine with `update` by bitwise or, and give the old elements.

    Indexing as in `gather`; each element is atomic, elements are unordered, those outside the array do nothing.
    The array is int32, int64, uint32 or uint64.
    """


@builtin("atomic_xor")
def atomic_xor(
    array: Array, indices: Any, update: Any, /, *, check_bounds: bool = True,
    memory_order: MemoryOrder = MemoryOrder.ACQ_REL, memory_scope: MemoryScope = MemoryScope.DEVICE,
) -> Tile:
    """Combine with `update` by bitwise exclusive or, and give the old elements.

    Indexing as in `gather`; each element is atomic, elements are unordered, those outside the array do nothing.
    The array is int32, int64, uint32 or uint64.
    """
