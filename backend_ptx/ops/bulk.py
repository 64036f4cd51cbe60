"""Bulk copies of tiles by the tensor memory accelerator (TMA), and the mbarriers on which they complete.

A ring of `copies` slots has two sets of `copies` mbarriers each: "full" completes a phase when the bytes of a slot have
landed, "empty" when every warp that reads the slot has released it. The CTA's producer warp prefetches slots far ahead
of the warps that consume them; roles.py says which role executes an op. In program order each op is simple: the copy
happens at once, waits and arrivals do nothing.
"""

from __future__ import annotations

from tilewright.backend_ptx.layouts.boxes import boxes_of_warps
from tilewright.backend_ptx.ops.engines import MBARRIER, TMA_LOAD, TMA_STORE
from tilewright.backend_ptx.ops.shared import BufferAccess, require_mbarriers, require_slot
from tilewright.tileir.core import Op, Value, attribute, operand, operands, optional_operand, require
from tilewright.tileir.dtypes import float32, tfloat32
from tilewright.tileir.engines import EVERY
from tilewright.tileir.enums import PaddingMode
from tilewright.tileir.layout import Layout
from tilewright.tileir.ops.arrays import array_of, check_index
from tilewright.tileir.ops.memory import check_tile_access
from tilewright.tileir.types import SharedType

# Groups of bulk stores that a wait may leave behind: as many instructions are there.
MAX_PENDING = 7


def require_barriers(opcode: str, barriers: Value, slot: Value | None) -> None:
    """The mbarrier of a slot of a ring."""
    require_mbarriers(opcode, barriers.type)
    require_slot(opcode, barriers.type, slot, 0)


class MbarrierInit(
    Op, opcode="mbarrier_init", io=True, collective=True, engine=MBARRIER, exclusive="barriers", role=EVERY,
):
    """Initialise every mbarrier of a ring: a phase completes after `count` arrivals. All threads may use it after."""

    barriers: Value = operand()
    count: int = attribute()

    def check(self) -> None:
        require_mbarriers("mbarrier_init", self.barriers.type)
        require(self.count > 0, f"mbarrier_init: {self.count} arrivals")


class MbarrierOp(Op, io=True):
    """What is done with the mbarrier of a slot."""

    barriers: Value = operand()
    slot: Value | None = optional_operand()

    def check(self) -> None:
        require_barriers(self.opcode, self.barriers, self.slot)


class MbarrierWait(MbarrierOp, opcode="mbarrier_wait", waits_for=MBARRIER):
    """Wait until the phase of parity `parity` (0 or 1) of a slot's mbarrier is complete; a fresh one has completed
    the phase of parity 1. `role` says who waits: "consumer" (every thread) or "producer" (its one thread). `again`: the
    thread has waited for this phase before, and wants no more than the end of a basic block."""

    parity: Value = operand()
    role: str = attribute(default="consumer")
    again: bool = attribute(default=False)

    def check(self) -> None:
        check_index("mbarrier_wait", self.parity)
        super().check()


class MbarrierArrive(MbarrierOp, opcode="mbarrier_arrive", engine=MBARRIER, exclusive="barriers"):
    """One lane of each consumer warp arrives on a slot's mbarrier when all lanes have got here; not where `active` is
    false. With `ctas` above 1 it arrives on those of all CTAs of the cluster, whose producers fill parts of the
    slot. `held`: before anything that follows is computed."""

    active: Value | None = optional_operand()
    ctas: int = attribute(default=1)
    held: bool = attribute(default=False)
    role: str = attribute(default="consumer")


class MbarrierExpect(MbarrierOp, opcode="mbarrier_expect", engine=MBARRIER, exclusive="barriers"):
    """The producer arrives on a slot's mbarrier and announces the `bytes` of the copies into the slot."""

    bytes: int = attribute()
    role: str = attribute(default="producer")


class TmaLoad(
    Op, opcode="tma_load", reads="array", writes="buffer", io=True, engine=TMA_LOAD, exclusive="array buffer",
):
    """Start copying the tile that `load` with the same fields reads into a slot of a ring; the bytes arrive on the
    slot's mbarrier. Elements outside the array become zero, and count as bytes too. float32 elements are rounded where
    the buffer holds tfloat32.

    The buffer's layout is that of backend_ptx/layouts/bulk.py. With `ctas` above 1 each CTA of the cluster loads one
    part of the slot and multicasts it to all.
    """

    buffer: Value = operand()
    barriers: Value = operand()
    slot: Value | None = optional_operand()
    array: Value = operand()
    index: tuple[Value, ...] = operands()
    steps: tuple[int, ...] = attribute()
    order: tuple[int, ...] = attribute()
    padding: PaddingMode = attribute(default=PaddingMode.ZERO, enum=PaddingMode)
    check_bounds: bool = attribute(default=True)
    ctas: int = attribute(default=1)
    role: str = attribute(default="producer")

    @property
    def shape(self) -> tuple[int, ...]:
        """The tile's shape, under the name that `load` has for it."""
        return tuple(self.buffer.type.shape)

    def check(self) -> None:
        buffer = self.buffer.type
        require(isinstance(buffer, SharedType), f"tma_load: {buffer} is not in shared memory")
        check_tile_access(self, buffer.shape)
        source = self.array.type.dtype
        fits = buffer.dtype is source or (source, buffer.dtype) == (float32, tfloat32)
        require(fits, f"tma_load: {self.array.type} does not fit {buffer}")
        require_slot("tma_load", buffer, self.slot, 0)
        require_barriers("tma_load", self.barriers, self.slot)
        zero = self.padding in (PaddingMode.ZERO, PaddingMode.UNDETERMINED)
        require(zero, f"tma_load: padding {self.padding.value!r} is not zero")


class TmaStore(
    BufferAccess, opcode="tma_store", reads="buffer", writes="array", io=True, engine=TMA_STORE, exclusive="array",
):
    """Start copying a buffer to where `store` with the same fields puts such a tile; outside elements are skipped.

    The buffer is made of boxes of `box` elements in the layout of backend_ptx/layouts/boxes.py. The first lane of each
    of the first `warps` warps copies an equal part of them, as one group of copies of that lane.
    """

    array: Value = operand()
    index: tuple[Value, ...] = operands()
    steps: tuple[int, ...] = attribute()
    order: tuple[int, ...] = attribute()
    box: tuple[int, ...] = attribute()
    warps: int = attribute(default=1)

    @property
    def shape(self) -> tuple[int, ...]:
        """The tile's shape."""
        return tuple(self.buffer.type.shape)

    def check(self) -> None:
        buffer = self.buffer.type
        require(isinstance(buffer, SharedType) and buffer.copies == 1, f"tma_store: {buffer} is no single buffer")
        check_tile_access(self, buffer.shape)
        require(self.array.type.dtype is buffer.dtype, f"tma_store: {buffer} into {self.array.type}")
        boxes = len(self.box) == len(buffer.shape) and not any(
            n % b for n, b in zip(buffer.shape, self.box, strict=True))
        require(boxes and self.warps > 0, f"tma_store: boxes {self.box} of {self.warps} warps for {buffer}")

    @property
    def thread_layout(self) -> Layout | None:
        """If several warps store boxes of their own, each warp holds the elements that its first lane stores."""
        return boxes_of_warps(self.buffer.type.layout, self.shape, self.warps) if self.warps > 1 else None


class TmaAcquire(Op, opcode="tma_acquire", io=True):
    """Before the bulk copies between shared memory and an array of a list: the threads that start them see the tensor
    map that the host has put in the list's table; not where `active` is false. `role` says whose threads: the
    producer's one, or the first lane of each of the first `warps` warps that compute."""

    array: Value = operand()
    active: Value | None = optional_operand()
    warps: int = attribute(default=1)
    role: str = attribute(default="producer")

    def check(self) -> None:
        array_of("tma_acquire", self.array)
        require(self.warps > 0, f"tma_acquire: {self.warps} warps")


class TmaStoreWait(Op, opcode="tma_store_wait", io=True, waits_for=TMA_STORE):
    """Each thread waits until all but its newest `pending` groups of bulk stores have read their buffers; with
    `written`, until they have written the array as well. After a barrier that follows it, threads may overwrite the
    buffers. `buffer` is the one to be freed, if it is a single one: `pending` groups were started after its last store.
    """

    buffer: Value | None = optional_operand()
    pending: int = attribute(default=0)
    written: bool = attribute(default=False)

    def check(self) -> None:
        require(0 <= self.pending <= MAX_PENDING, f"tma_store_wait: {self.pending} groups")
