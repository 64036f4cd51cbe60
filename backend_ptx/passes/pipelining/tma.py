"""Rings filled by TMA: a producer warp announces bytes and issues loads; consumers wait for them and release slots.

    mbarrier_wait(barriers=%empty, slot=%slot, parity=%parity ^ 1, role="producer")
    mbarrier_expect(barriers=%full, slot=%slot, bytes=16384)
    tma_load(buffer=%ring, barriers=%full, slot=%slot, array=%a, index=(%i, %k), ...)
    mbarrier_wait(barriers=%full, slot=%slot, parity=%parity)
    ...                                                                 // reads of the slot
    mbarrier_arrive(barriers=%empty, slot=%slot)

If MMAs are outstanding at the end of an iteration, the iteration releases the slot of the previous one, and a release
after the loop frees that of the last one. The IR is one program in order; roles.py splits it by role.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.backend_ptx.ops.bulk import MbarrierArrive, MbarrierExpect, MbarrierInit, MbarrierWait, TmaLoad
from tilewright.backend_ptx.ops.engines import TMA_LOAD, needs_proxy_fence
from tilewright.backend_ptx.ops.matmul import is_outstanding, left_outstanding, waits_for
from tilewright.backend_ptx.ops.shared import SharedAlloc
from tilewright.backend_ptx.ops.warpgroup import ProxyFence
from tilewright.backend_ptx.passes.flow import body_of
from tilewright.backend_ptx.passes.pipelining.emit import Carrier, Position
from tilewright.backend_ptx.passes.pipelining.transfers import Transfer
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Op, Value
from tilewright.tileir.dtypes import int64
from tilewright.tileir.engines import THREADS
from tilewright.tileir.ops import arith
from tilewright.tileir.ops.control import For
from tilewright.tileir.types import SharedType


class Tma(Carrier):
    """A channel whose slots a producer fills."""

    guarded = True
    announced = False

    def read_at_once(self, transfer: Transfer) -> Sequence[Op]:
        return transfer.conversions  # so that the slot is free early

    def allocate(self, b: Builder) -> None:
        super().allocate(b)
        words = SharedType(int64, (), self.ring.slots)
        self.ring.full, self.ring.empty = (b.value(SharedAlloc(type=words), name) for name in ("full", "empty"))
        b.emit(MbarrierInit(barriers=self.ring.full, count=1))
        b.emit(MbarrierInit(barriers=self.ring.empty, count=self.warps * self.ring.ctas))

    def start(self, b: Builder, transfer: Transfer, at: Position) -> None:
        ring, load = self.ring, transfer.load
        assert at.parity is not None
        if not self.announced:
            free = b.value(arith.Xor(lhs=at.parity, rhs=self.constants(1)))
            b.emit(MbarrierWait(barriers=ring.empty, slot=at.slot, parity=free, role="producer"))
            b.emit(MbarrierExpect(barriers=ring.full, slot=at.slot, bytes=ring.bytes))
            self.announced = True
        b.emit(TmaLoad(
            buffer=self.channel.buffer(transfer), barriers=ring.full, slot=at.slot, array=load.array, index=load.index,
            steps=load.steps, order=load.order, check_bounds=load.check_bounds, ctas=transfer.ctas))

    def wait(self, b: Builder, at: Position) -> None:
        assert at.parity is not None
        b.emit(MbarrierWait(barriers=self.ring.full, slot=at.slot, parity=at.parity))

    def behind(self, b: Builder, op: Op, at: Position) -> None:
        if op is self.channel.release:
            self._free(b, at.slot)

    def end(self, b: Builder, at: Position) -> None:
        loop = self.channel.loop
        if self.channel.release is None and isinstance(loop, For):
            # MMAs of this iteration may stay outstanding; those of the previous one are complete.
            products = [op for op in b.block.ops if is_outstanding(op)]
            self.emit(b, waits_for(products, len(products)))
            self._free_previous(b, at.slot, arith.Gt(lhs=loop.loop.params[0], rhs=loop.lower))

    def after(self, b: Builder, at: Position, following: Sequence[Op]) -> int:
        loop = self.channel.loop
        if self.channel.release is not None or not isinstance(loop, For):
            return 0
        # The slot of the last iteration is free after the wait below the loop.
        place = next((i + 1 for i, op in enumerate(following) if left_outstanding(op) is not None), 0)
        if not place:
            self.emit(b, waits_for(body_of(loop).ops))
        self._free_previous(b, at.slot, arith.Lt(lhs=loop.lower, rhs=loop.upper))
        return place

    def _free(self, b: Builder, slot: Value, active: Value | None = None) -> None:
        """Tell every producer that fills the slot that this warp has read it.

        A read by threads may still be queued behind other warps' stores when the arrival overtakes it, and mbarriers
        order only accesses of one proxy: without the fence TMA may overwrite what has not been read yet.
        """
        if self.read_by_threads and needs_proxy_fence(THREADS, TMA_LOAD):
            b.emit(ProxyFence())
        b.emit(MbarrierArrive(barriers=self.ring.empty, slot=slot, active=active, ctas=self.ring.ctas))

    def _free_previous(self, b: Builder, slot: Value, ran: Op) -> None:
        """Release the slot before this one, if there was an iteration."""
        active = b.value(ran)
        first = b.value(arith.Eq(lhs=slot, rhs=self.constants(0)))
        less = b.value(arith.Sub(lhs=slot, rhs=self.constants(1)))
        self._free(b, b.value(arith.Select(cond=first, lhs=self.constants(self.ring.slots - 1), rhs=less)), active)
