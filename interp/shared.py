"""Shared memory: buffers of the blocks of a chunk, rings of slots, views of a slot under another shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tilewright.interp.chunk import Chunk, Regs
from tilewright.interp.lowering import Lowering
from tilewright.interp.memory import Region, Values
from tilewright.tileir.core import Value

View = tuple[tuple[int, ...], tuple[int, ...]]  # axes to permute to, then the shape


class SharedBuffer:
    """A shared buffer of each block, as a register holds it. The axes of `data`: over blocks where buffers vary, over
    slots if it is a ring, then those of the tile. `rows`: the blocks' numbers in `data` (None: all, in order).

    A view is the slot `slot` of another buffer, its axes permuted and reshaped by each of `views` in turn.
    """

    __slots__ = ("name", "data", "varies", "rows", "slot", "views")

    def __init__(self, name: str, data: Any, varies: bool, rows: Any = None, slot: Any = None,
                 views: tuple[View, ...] = ()) -> None:
        self.name = name
        self.data = data
        self.varies = varies
        self.rows = rows
        self.slot = slot
        self.views = views

    def take(self, blocks: Any) -> SharedBuffer:
        """The same buffers for some of the blocks."""
        rows = blocks if self.rows is None else self.rows[blocks]
        slot = self.slot[blocks] if isinstance(self.slot, np.ndarray) else self.slot
        return SharedBuffer(self.name, self.data, self.varies, rows, slot, self.views)

    def view(self, slot: Any, axes: tuple[int, ...], shape: tuple[int, ...]) -> SharedBuffer:
        """Slot `slot` (None: the only one) under another shape."""
        slot = self.slot if slot is None else slot
        return SharedBuffer(self.name, self.data, self.varies, self.rows, slot, (*self.views, (axes, shape)))


class SharedRegion(Region):
    """A buffer of each block, or one slot of it."""

    __slots__ = ()
    kind = "shared"

    def __init__(self, buffer: SharedBuffer, slot: Any, chunk: Chunk, blocks: Any = None) -> None:
        """`slot`: a number, an array over the blocks of the chunk, or None for a single buffer."""
        super().__init__(buffer, () if slot is None else (slot,), chunk, blocks, buffer.varies)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(np.shape(self.read()))

    @property
    def mask(self) -> Any:
        return None

    def offsets(self) -> Any:
        data = self.array.data
        one = data.shape[1:] if self.varies else data.shape
        places = np.arange(int(np.prod(one)), dtype=np.int64).reshape(one) * data.itemsize
        return self._of(np.broadcast_to(places, data.shape))

    def read(self) -> Values:
        return self._of(self.array.data)

    def write(self, values: Values) -> None:
        if self.array.views:
            raise TypeError("a store to a view of a shared buffer")
        self.array.data[self._place()] = values

    def _of(self, data: Any) -> Any:
        out = data[self._place()]
        for axes, shape in self.array.views:
            out = out.transpose((0, *(a + 1 for a in axes)) if self.varies else axes)
            out = out.reshape(*out.shape[: self.varies], *shape)
        return out

    def _place(self) -> Any:
        """The index of the elements in `data`."""
        slot = self.index[0] if self.index else self.array.slot
        if not self.varies:
            return ... if slot is None else int(slot)
        rows = self.array.rows
        if self.blocks is not None:
            rows = self.blocks if rows is None else rows[self.blocks]
            slot = slot[self.blocks] if np.ndim(slot) else slot
        if slot is None:
            return ... if rows is None else rows
        if not np.ndim(slot):
            return (slice(None) if rows is None else rows, int(slot))
        return (np.arange(len(self.array.data)) if rows is None else rows, slot)


def slot_of(op: Any, low: Lowering) -> Callable[[Regs], Any]:
    """The slot of a ring that an op accesses, (slot + ahead) % copies; None for a single buffer, a ring of one slot."""
    copies = op.buffer.type.copies
    if copies == 1:
        return lambda regs: None
    place, ahead = low.slot(op.slot), getattr(op, "ahead", 0)
    return lambda regs: (np.asarray(regs[place], np.int64) + ahead) % copies


def reader(value: Value, op: Any, low: Lowering) -> Callable[[Regs], Values]:
    """The values of an operand that may be a tile in registers or a shared buffer."""
    source = low.slot(value)

    def read(regs: Regs) -> Values:
        held = regs[source]
        if not isinstance(held, SharedBuffer):
            return held
        chunk: Chunk = regs[0]
        return chunk.memory.read(SharedRegion(held, None, chunk), op)
    return read
