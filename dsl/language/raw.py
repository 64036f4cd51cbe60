"""The class of raw memory, which `Array.get_raw_memory` gives."""

from __future__ import annotations

from typing import Any

from tilewright.language.builtin import builtin
from tilewright.language.classes import Tile
from tilewright.tileir.dtypes import DType
from tilewright.tileir.enums import MemoryOrder, MemoryScope

ACQ_REL, DEVICE = MemoryOrder.ACQ_REL, MemoryScope.DEVICE


class RawArrayMemory:
    """The memory of an array, addressed by offsets in elements from its first one. Nothing checks the offsets.

    An offset is an integer tile of any shape; `mask`, a bool tile that broadcasts to it, leaves elements out.
    """

    @property
    def dtype(self) -> DType:
        """Type of the elements (constant)."""
        raise RuntimeError("raw memory exists inside a kernel only")

    @builtin("RawArrayMemory.load_offset")
    def load_offset(
        raw, offset: Any, /, *, mask: Any = None, padding_value: Any = 0, latency: int | None = None
    ) -> Tile:
        """The elements at the offsets; `padding_value` where the mask is False (None: nothing may be assumed there)."""

    @builtin("RawArrayMemory.store_offset")
    def store_offset(raw, offset: Any, value: Any, /, *, mask: Any = None, latency: int | None = None) -> None:
        """Write elements; `value` broadcasts to the offsets. Of several with one offset one wins, unspecified which."""

    @builtin("RawArrayMemory.atomic_cas_offset")
    def atomic_cas_offset(
        raw, offset: Any, expected: Any, desired: Any, /, *, mask: Any = None, memory_order: MemoryOrder = ACQ_REL,
        memory_scope: MemoryScope = DEVICE,
    ) -> Tile:
        """`atomic_cas` at offsets: the old elements, `expected` where the mask is False."""

    @builtin("RawArrayMemory.atomic_xchg_offset")
    def atomic_xchg_offset(
        raw, offset: Any, update: Any, /, *, mask: Any = None, memory_order: MemoryOrder = ACQ_REL,
        memory_scope: MemoryScope = DEVICE,
    ) -> Tile:
        """Put `update` in place, atomically; the old elements."""

    @builtin("RawArrayMemory.atomic_add_offset")
    def atomic_add_offset(
        raw, offset: Any, update: Any, /, *, mask: Any = None, memory_order: MemoryOrder = ACQ_REL,
        memory_scope: MemoryScope = DEVICE,
    ) -> Tile:
        """Add `update`, atomically; the old elements."""

    @builtin("RawArrayMemory.atomic_max_offset")
    def atomic_max_offset(
        raw, offset: Any, update: Any, /, *, mask: Any = None, memory_order: MemoryOrder = ACQ_REL,
        memory_scope: MemoryScope = DEVICE,
    ) -> Tile:
        """Take the maximum with `update`, atomically; the old elements."""

    @builtin("RawArrayMemory.atomic_min_offset")
    def atomic_min_offset(
        raw, offset: Any, update: Any, /, *, mask: Any = None, memory_order: MemoryOrder = ACQ_REL,
        memory_scope: MemoryScope = DEVICE,
    ) -> Tile:
        """Take the minimum with `update`, atomically; the old elements."""

    @builtin("RawArrayMemory.atomic_and_offset")
    def atomic_and_offset(
        raw, offset: Any, update: Any, /, *, mask: Any = None, memory_order: MemoryOrder = ACQ_REL,
        memory_scope: MemoryScope = DEVICE,
    ) -> Tile:
        """Combine with `update` (of the array's dtype) by bitwise and, atomically; the old elements."""

    @builtin("RawArrayMemory.atomic_or_offset")
    def atomic_or_offset(
        raw, offset: Any, update: Any, /, *, mask: Any = None, memory_order: MemoryOrder = ACQ_REL,
        memory_scope: MemoryScope = DEVICE,
    ) -> Tile:
        """Combine with `update` (of the array's dtype) by bitwise or, atomically; the old elements."""

    @builtin("RawArrayMemory.atomic_xor_offset")
    def atomic_xor_offset(
        raw, offset: Any, update: Any, /, *, mask: Any = None, memory_order: MemoryOrder = ACQ_REL,
        memory_scope: MemoryScope = DEVICE,
    ) -> Tile:
        """Combine with `update` (of the array's dtype) by bitwise exclusive or, atomically; the old elements."""
