"""Asynchronous copies of tiles from global to shared memory, and how a thread waits for its own.

Copies belong to groups: `async_commit` closes the group of all copies since the last one, and `async_wait(pending=n)`
waits until at most the newest n groups of the thread are in flight. Then the thread sees the data of the others; other
threads see it after a `barrier`.
"""

from __future__ import annotations

from tilewright.backend_ptx.ops.engines import CP_ASYNC
from tilewright.backend_ptx.ops.shared import BufferAccess, Signal, require_slot
from tilewright.tileir.core import Op, Value, attribute, operand, operands, optional_operand, require
from tilewright.tileir.dtypes import bool_
from tilewright.tileir.enums import PaddingMode
from tilewright.tileir.layout import Layout
from tilewright.tileir.ops.memory import check_gather, check_tile_access
from tilewright.tileir.types import SharedType, TileType


class AsyncCopy(BufferAccess, engine=CP_ASYNC):
    """What all copies share: they go to slot (slot + ahead) % copies of a buffer if `active` holds. `tile` says which
    thread copies which elements: its layout is that of a tile in registers."""

    slot: Value | None = optional_operand()
    array: Value = operand()
    active: Value
    tile: TileType

    @property
    def shape(self) -> tuple[int, ...]:
        """The tile's shape, under the name that `load` and `gather` have for it."""
        return self.tile.shape

    @property
    def thread_layout(self) -> Layout | None:
        return self.tile.layout

    def check(self) -> None:
        name = self.opcode
        require(isinstance(self.tile, TileType), f"{name}: {self.tile} is no tile")
        buffer, dtype = self.buffer.type, self.array.type.dtype
        fits = isinstance(buffer, SharedType) and (buffer.dtype, buffer.shape) == (dtype, self.tile.shape)
        what = f"{name}: {self.tile} of {self.array.type} does not fit {buffer}"
        require(fits and self.tile.dtype is dtype, what)
        require_slot(name, buffer, self.slot, self.ahead)
        require(self.active.type.erased() == TileType(bool_), f"{name}: active has type {self.active.type}, not i1")


class AsyncLoad(AsyncCopy, opcode="async_load", reads="array", writes="buffer"):
    """Start copying the tile that `load` with the same fields reads into slot (slot + ahead) % copies of a buffer.

    `tile` says which thread copies which elements: its layout is that of a tile in registers. Nothing happens where
    `active` is false. Elements outside the array become zero. Until a wait has covered the copy, nobody may touch
    the slot.
    """

    index: tuple[Value, ...] = operands()
    active: Value = operand()
    tile: TileType = attribute()
    steps: tuple[int, ...] = attribute()
    order: tuple[int, ...] = attribute()
    padding: PaddingMode = attribute(default=PaddingMode.ZERO, enum=PaddingMode)
    check_bounds: bool = attribute(default=True)
    ahead: int = attribute(default=0)

    def check(self) -> None:
        check_tile_access(self, self.tile.shape)
        super().check()
        zero = self.padding in (PaddingMode.ZERO, PaddingMode.UNDETERMINED)
        require(zero, f"async_load: padding {self.padding.value!r} is not zero")


class AsyncGather(AsyncCopy, opcode="async_gather", reads="array", writes="buffer"):
    """Start copying the tile that `gather` with the same fields reads into slot (slot + ahead) % copies of a buffer.

    As `async_load`, with `padding` zero everywhere. Every `vector` registers of a thread hold elements side by side in
    memory, along axis `dense` of the array, aligned, and masked all or none.
    """

    indices: tuple[Value, ...] = operands()
    mask: Value | None = optional_operand()
    padding: Value = operand()
    active: Value = operand()
    tile: TileType = attribute()
    vector: int = attribute()
    dense: int = attribute()
    check_bounds: bool = attribute(default=True)
    ahead: int = attribute(default=0)

    def check(self) -> None:
        check_gather(self)
        super().check()
        width = self.vector * self.tile.dtype.bytes
        require(width in (4, 8, 16), f"async_gather: {width} bytes are no copy")


class AsyncCommit(Signal, opcode="async_commit", engine=CP_ASYNC):
    """Close the group of the copies that the thread has started since the last commit (a group may be empty)."""


class AsyncWait(Op, opcode="async_wait", io=True, waits_for=CP_ASYNC):
    """Wait until at most the newest `pending` groups of this thread are in flight."""

    pending: int = attribute(default=0)

    def check(self) -> None:
        require(self.pending >= 0, f"async_wait: {self.pending} groups cannot be pending")
