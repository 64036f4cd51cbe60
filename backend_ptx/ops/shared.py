"""Shared memory: buffers, accesses by all threads of the CTA, and barriers between them."""

from __future__ import annotations

from typing import Any

from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Effects, Op, Value, attribute, operand, operands, optional_operand, require
from tilewright.tileir.dtypes import int32, int64
from tilewright.tileir.engines import Scope, barrier
from tilewright.tileir.layout import Layout
from tilewright.tileir.ops.arrays import check_index
from tilewright.tileir.ops.shape import taken
from tilewright.tileir.types import SharedType, TileType, Type


def require_slot(opcode: str, buffer: SharedType, slot: Value | None, ahead: int) -> None:
    """A ring of several copies is accessed in slot (slot + ahead) % copies; a single buffer has no slot."""
    if slot is None:
        require(buffer.copies == 1 and ahead == 0, f"{opcode}: an access of {buffer} needs a slot")
        return
    scalar = isinstance(slot.type, TileType) and not slot.type.shape and slot.type.dtype.is_int
    require(scalar, f"{opcode}: slot of type {slot.type}")
    require(0 <= ahead < buffer.copies, f"{opcode}: {ahead} slots ahead in {buffer}")


def require_mbarriers(opcode: str, type_: Type) -> None:
    """mbarriers are a ring of 64-bit words in shared memory (PTX ISA 9.7.13.15)."""
    words = isinstance(type_, SharedType) and type_.dtype is int64 and type_.shape == ()
    require(words, f"{opcode}: {type_} holds no mbarriers")


class Signal(Op, io=True):
    """An op without operands and results, for the sake of its effect."""

    def check(self) -> None:
        """Nothing: it has no operands."""


class BufferAccess(Op):
    """An access of a buffer in shared memory, at once or by an engine."""

    buffer: Value = operand()
    slot: Value | None = None
    ahead: int = 0

    @property
    def ring_slot(self) -> tuple[Value, int] | None:
        """(slot, ahead) where the access goes to slot (slot + ahead) % copies of a ring."""
        return None if self.slot is None else (self.slot, self.ahead)

    @property
    def thread_layout(self) -> Layout | None:
        """The layout of the access in threads, if it covers the whole buffer."""
        return None


class SharedAlloc(Op, opcode="shared_alloc"):
    """A buffer in shared memory, its contents undefined. `offset`: its place in bytes, -1 while none is planned.
    `guarded`: mbarriers order all its accesses. `each`: each team of warps has one, at the place of the first one and
    behind it."""

    type: SharedType = attribute()
    offset: int = attribute(default=-1)
    guarded: bool = attribute(default=False)
    each: bool = attribute(default=False)

    def infer(self) -> tuple[Type, ...]:
        require(isinstance(self.type, SharedType), f"shared_alloc: {self.type} is no type of shared memory")
        return (self.type,)


class SharedStore(BufferAccess, opcode="shared_store", writes="buffer"):
    """Write a tile that covers the whole buffer. Threads that hold copies of an element write the same value.

    In a ring it goes to slot (slot + ahead) % copies, where 0 <= slot < copies.
    """

    slot: Value | None = optional_operand()
    value: Value = operand()
    ahead: int = attribute(default=0)

    def check(self) -> None:
        buffer, value = self.buffer.type, self.value.type
        fits = isinstance(buffer, SharedType) and isinstance(value, TileType)
        require(fits and (buffer.dtype, buffer.shape) == (value.dtype, value.shape),
                f"shared_store: {value} does not fit {buffer}")
        require_slot("shared_store", buffer, self.slot, self.ahead)

    @property
    def thread_layout(self) -> Layout | None:
        layout: Layout | None = self.value.type.layout
        return layout


class SharedLoad(BufferAccess, opcode="shared_load", reads="buffer"):
    """The sub-tile of `shape` of a buffer at tile coordinates `index` (scalars, one an axis; none: the whole).

    In a ring it comes from slot (slot + ahead) % copies, where 0 <= slot < copies.
    """

    slot: Value | None = optional_operand()
    index: tuple[Value, ...] = operands()
    shape: tuple[int, ...] = attribute()
    ahead: int = attribute(default=0)

    def infer(self) -> tuple[Type, ...]:
        buffer = self.buffer.type
        require(isinstance(buffer, SharedType), f"shared_load: {buffer} is not in shared memory")
        require_slot("shared_load", buffer, self.slot, self.ahead)
        check_index("shared_load", *self.index)
        ok = len(self.index) == len(buffer.shape) if self.index else self.shape == buffer.shape
        require(ok, f"shared_load: {len(self.index)} indices and shape {self.shape} for {buffer}")
        return (TileType(buffer.dtype, self.shape),)

    @property
    def thread_layout(self) -> Layout | None:
        layout: Layout | None = None if self.index else self.result.type.layout
        return layout


class SharedTake(BufferAccess, opcode="shared_take", reads="buffer"):
    """`take` from a tile that is in a buffer."""

    index: Value = operand()
    axis: int = attribute()

    def infer(self) -> tuple[Type, ...]:
        require(isinstance(self.buffer.type, SharedType), f"shared_take: {self.buffer.type} is not in shared memory")
        return (taken("shared_take", self.buffer.type, self.index.type, self.axis),)


class SharedCount(BufferAccess, opcode="shared_count", reads="buffer", writes="buffer"):
    """For each element of a tile that is a place in a buffer of one axis, add 1 there. Each addition is atomic."""

    numbers: Value = operand()

    def check(self) -> None:
        buffer, numbers = self.buffer.type, self.numbers.type
        require(buffer.dtype is numbers.dtype is int32, f"shared_count: {numbers} does not count in {buffer}")


class Barrier(Op, opcode="barrier", io=True, collective=True):
    """Wait until all threads of the CTA (or, for scope "warp", of the warp) arrive; earlier memory accesses of each are
    then visible to all of them."""

    scope: str = attribute(default="block")

    def effects(self) -> Effects:
        return Effects(io=True, fence=barrier(Scope.WARP if self.scope == "warp" else Scope.CTA))

    def check(self) -> None:
        require(self.scope in ("block", "warp"), f"barrier: {self.scope!r} is neither 'block' nor 'warp'")


def put(b: Builder, value: Value, layout: Layout) -> Value:
    """A new buffer that holds a tile, in a layout of shared memory."""
    buffer = b.value(SharedAlloc(type=SharedType(value.type.dtype, value.type.shape, layout=layout)))
    b.emit(SharedStore(buffer=buffer, slot=None, value=value))
    return buffer


def loaded(b: Builder, buffer: Value, wanted: TileType, hint: str = "", **where: Any) -> Value:
    """What is in a buffer or in a slot of a ring, or a sub-tile of it, as `wanted` says that threads hold it."""
    return b.value(SharedLoad(buffer=buffer, shape=wanted.shape, **{"index": (), **where}), hint).retype(wanted)
