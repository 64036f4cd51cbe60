"""What each engine puts into the program for a channel: how a copy starts, what waits for it, what frees a slot."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.backend_ptx.ops.async_copy import AsyncCommit, AsyncGather, AsyncLoad, AsyncWait
from tilewright.backend_ptx.ops.bulk import (
    MbarrierArrive,
    MbarrierExpect,
    MbarrierInit,
    MbarrierWait,
    TmaAcquire,
    TmaLoad,
)
from tilewright.backend_ptx.ops.engines import CP_ASYNC, TMA_LOAD, needs_proxy_fence
from tilewright.backend_ptx.ops.matmul import covering_wait, is_outstanding, left_outstanding, waits_for
from tilewright.backend_ptx.ops.shared import SharedAlloc, SharedStore
from tilewright.backend_ptx.ops.warpgroup import ProxyFence, Stage, proxy_fences
from tilewright.backend_ptx.passes.pipelining.emit import Carrier, Position
from tilewright.backend_ptx.passes.pipelining.transfers import Channel, Transfer
from tilewright.tileir.analysis.described import in_list, root_of
from tilewright.tileir.analysis.facts import Facts
from tilewright.tileir.analysis.places import may_be_cut
from tilewright.tileir.analysis.recurrences import Recurrence
from tilewright.tileir.builder import Builder, Constants
from tilewright.tileir.carried import body_of, carry, hand_on
from tilewright.tileir.core import Op, Value
from tilewright.tileir.dtypes import int64
from tilewright.tileir.engines import THREADS
from tilewright.tileir.enums import PaddingMode
from tilewright.tileir.iterations import Lead, clone
from tilewright.tileir.ops import arith
from tilewright.tileir.ops.control import For
from tilewright.tileir.ops.memory import Gather, Load
from tilewright.tileir.types import SharedType


class Tma(Carrier):
    """Rings filled by TMA: a producer warp announces bytes and issues loads; consumers wait for them and release slots.

        mbarrier_wait(barriers=%empty, slot=%slot, parity=%parity ^ 1, role="producer")
        mbarrier_expect(barriers=%full, slot=%slot, bytes=16384)
        tma_load(buffer=%ring, barriers=%full, slot=%slot, array=%a, index=(%i, %k), ...)
        mbarrier_wait(barriers=%full, slot=%slot, parity=%parity)
        ...                                                                 // reads of the slot
        mbarrier_arrive(barriers=%empty, slot=%slot)

    Before the copy of an array of a list stands the `tma_acquire` of its tensor map: acquire_once.py says how often.

    If MMAs are outstanding at the end of an iteration, the next one releases its slot, after the first wait that covers
    them or at its end, and a release after the loop frees that of the last one. A slot that is filled once is never
    released. The IR is one program in order; tileir/passes/project.py splits it by role.
    """

    guarded = True
    announced = False

    def read_at_once(self, transfer: Transfer) -> Sequence[Op]:
        """What only threads read, before the iteration waits for MMAs, and so that a slot without operands of MMAs is
        free early."""
        late = any(t.stages for t in self.channel.transfers)
        return () if late else transfer.conversions or [transfer.source]

    def allocate(self, b: Builder) -> None:
        super().allocate(b)
        words = SharedType(int64, (), self.ring.slots)
        self.ring.full, self.ring.empty = (b.value(SharedAlloc(type=words), name) for name in ("full", "empty"))
        b.emit(MbarrierInit(barriers=self.ring.full, count=1))
        if not self.channel.once:
            b.emit(MbarrierInit(barriers=self.ring.empty, count=self.warps * self.ring.ctas))

    def acquire(self, b: Builder, at: Position) -> None:
        assert at.parity is not None
        free = b.value(arith.Xor(lhs=at.parity, rhs=self.constants(1)))
        b.emit(MbarrierWait(barriers=self.ring.empty, slot=at.slot, parity=free, role="producer"))

    def start(self, b: Builder, transfer: Transfer, at: Position) -> None:
        ring, load = self.ring, transfer.load
        if in_list(load.array):
            b.emit(TmaAcquire(array=root_of(load.array), active=None))
        if not self.announced:
            if not self.channel.once:
                self.acquire(b, at)
            b.emit(MbarrierExpect(barriers=ring.full, slot=at.slot, bytes=ring.bytes))
            self.announced = True
        b.emit(TmaLoad(
            buffer=self.channel.buffer(transfer), barriers=ring.full, slot=at.slot, array=load.array, index=load.index,
            steps=load.steps, order=load.order, check_bounds=load.check_bounds, ctas=transfer.ctas))

    def begin(self, b: Builder, at: Position) -> None:
        """Find the first wait that covers what the iteration before left outstanding."""
        left = self.channel.release is None
        self.covering = covering_wait(body_of(self.channel.loop).ops) if left else None

    def wait(self, b: Builder, at: Position, again: bool = False) -> None:
        assert at.parity is not None
        b.emit(MbarrierWait(barriers=self.ring.full, slot=at.slot, parity=at.parity, again=again))

    def behind(self, b: Builder, op: Op, at: Position) -> None:
        if op is self.channel.release and not self.channel.once:
            self._free(b, at.slot)
            self.read_by_threads = False
        elif op is self.covering:
            self._free_before(b, at)

    def end(self, b: Builder, at: Position) -> None:
        if self.channel.release is None and self.covering is None:
            # MMAs of this iteration may stay outstanding; those of the previous one are complete.
            products = [op for op in b.block.ops if is_outstanding(op)]
            b.extend(waits_for(products, len(products)))
            self._free_before(b, at)

    def _free_before(self, b: Builder, at: Position) -> None:
        """In an iteration, release the slot of the one before."""
        loop = self.channel.loop
        assert isinstance(loop, For)  # others wait at their end
        self._free_previous(b, at.slot, arith.Gt(lhs=loop.loop.params[0], rhs=loop.lower))

    def after(self, b: Builder, at: Position, following: Sequence[Op]) -> int:
        loop = self.channel.loop
        if self.channel.release is not None or not isinstance(loop, For):
            return 0
        # The slot of the last iteration is free after the wait below the loop.
        place = next((i + 1 for i, op in enumerate(following) if left_outstanding(op) == 0), 0)
        if not place:
            b.extend(waits_for(body_of(loop).ops))
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


class AsyncCopies(Carrier):
    """Rings filled by cp.async: threads prefetch tiles some iterations ahead, and wait for their own groups of copies.

        async_load(buffer=%ring, slot=%zero, array=%a, index=(%i, %l), active=%l < %u, tile=tile<..., #0>, ...)
        async_commit()
        async_load(buffer=%ring, slot=%zero, ahead=1, ..., index=(%i, %l + %s), ...)        // before the loop
        async_commit()
        for ... {
            async_wait(pending=1)
            async_load(buffer=%ring, slot=%slot, ahead=2, index=(%i, %k + 2 * %s), active=%u - %k > 2 * %s, ...)
            async_commit()
            ...                                                             // reads of the slot
        }
        async_wait()

    If wgmma read the slots, copies start after them. As these may be outstanding in the next iteration, the ring has
    one more slot. The tiles that a gather's indices need are loaded one iteration earlier and carried in registers.
    """

    def __init__(self, channel: Channel, constants: Constants, known: Facts, warps: int) -> None:
        super().__init__(channel, constants, known, warps)
        self.lead = Lead(channel.loop, channel.recurrence or Recurrence(), known, constants)
        self.fetched: dict[Value, Value] = {}
        self.products = [op for op in body_of(channel.loop).ops if is_outstanding(op)] if channel.late else []

    def before(self, b: Builder) -> None:
        ahead, zero = self.channel.ahead, Position(self.constants(0))
        for number in range(ahead):
            active, mapping = self.lead.at(b, number, inside=False)
            self._copy(b, zero, number, active, {**mapping, **self._fetch(b, mapping)})
        self.lead.carry()
        if any(t.address.fetched for t in self.channel.transfers):
            first = self._fetch(b, self.lead.at(b, ahead, inside=False)[1])
            params, _ = carry(self.channel.loop, [*first.values()], [v.hint for v in first])
            self.fetched = dict(zip(first, params, strict=True))

    def begin(self, b: Builder, at: Position) -> None:
        b.emit(AsyncWait(pending=self.channel.ahead - 1))
        b.extend(proxy_fences(CP_ASYNC, self.products))
        if not self.channel.late:
            self._later(b, at)

    def behind(self, b: Builder, op: Op, at: Position) -> None:
        if op in self.products[-1:]:
            # The copies overlap with these MMAs, and fill the slot of the previous iteration's.
            self._later(b, at)
            b.extend(waits_for(self.products, len(self.products)))

    def after(self, b: Builder, at: Position, following: Sequence[Op]) -> int:
        b.extend(waits_for(self.products))
        b.emit(AsyncWait())
        return 0

    def _later(self, b: Builder, at: Position) -> None:
        """The copies of a later iteration, with the indices fetched one iteration ago; then fetch those of the next."""
        ahead = self.channel.ahead
        active, mapping = self.lead.at(b, ahead, inside=True)
        self._copy(b, at, ahead, active, {**mapping, **self.fetched})
        following = self._fetch(b, self.lead.at(b, ahead + 1, inside=True)[1]) if self.fetched else {}
        hand_on(body_of(self.channel.loop), [*self.lead.values, *following.values()])

    def _fetch(self, b: Builder, known: dict[Value, Value]) -> dict[Value, Value]:
        """Load what the gathers of the iteration with these parameters need from other arrays."""
        mapping = dict(known)
        out: dict[Value, Value] = {}
        for transfer in self.channel.transfers:
            clone(b, transfer.address.places, mapping)
            for value, load in transfer.address.fetched:
                if value not in out:
                    out[value] = b.value(load.clone(dict(mapping))).retype(value.type)
        return out

    def _copy(self, b: Builder, at: Position, ahead: int, active: Value, mapping: dict[Value, Value]) -> None:
        """The copies of one iteration, as a group; the lead goes on to the next one."""
        for transfer in self.channel.transfers:
            clone(b, transfer.address.ops, mapping)
            with b.at(transfer.source.span):
                b.emit(self._start(transfer, at.slot, ahead, active, mapping))
        b.emit(AsyncCommit())
        self.lead.step(b, mapping)

    def _start(self, transfer: Transfer, slot: Value, ahead: int, active: Value,
               mapping: dict[Value, Value]) -> AsyncLoad | AsyncGather:
        source, run, buffer = transfer.source, transfer.run, self.channel.buffer(transfer)
        tile = source.result.type.with_layout(transfer.threads)
        if isinstance(source, Gather):
            return AsyncGather(
                buffer=buffer, slot=slot, ahead=ahead, array=source.array, active=active,
                indices=tuple(mapping.get(i, i) for i in source.indices),
                mask=None if source.mask is None else mapping.get(source.mask, source.mask), padding=source.padding,
                tile=tile, vector=run.length, dense=run.dense, check_bounds=source.check_bounds)
        assert isinstance(source, Load)
        # Nothing is padded if nothing lies outside, so any padding will do.
        padding = source.padding if source.check_bounds else PaddingMode.ZERO
        return AsyncLoad(
            buffer=buffer, slot=slot, ahead=ahead, array=source.array, active=active,
            index=tuple(mapping.get(i, i) for i in source.index), steps=source.steps, order=source.order, tile=tile,
            padding=padding, check_bounds=source.check_bounds and (not self.lead.exact or any(
                may_be_cut(source, axis, self.known) for axis in range(len(source.index)))))


class Staging(Carrier):
    """Rings filled by threads: they store operands that they computed, and a proxy fence makes these visible to wgmma.

        shared_store(buffer=%ring, slot=%slot, value=%v)                    // while MMAs of the last iteration execute
        proxy_fence()
        ...                                                                 // MMAs read the slot
        wgmma_wait(accs=(), pending=1)

    With three slots an iteration has one barrier, between its stores and its MMAs. The MMAs of three iterations ago
    read the same slot; every thread has waited for them before the barrier of the previous iteration. With two slots a
    second barrier stands before the stores.
    """

    def read_at_once(self, transfer: Transfer) -> Sequence[Op]:
        return transfer.stages

    def start(self, b: Builder, transfer: Transfer, at: Position) -> None:
        assert isinstance(transfer.source, Stage)
        b.emit(SharedStore(buffer=self.channel.buffer(transfer), slot=at.slot, value=transfer.source.src))
        b.extend(proxy_fences(THREADS, body_of(self.channel.loop).ops))

    def behind(self, b: Builder, op: Op, at: Position) -> None:
        ops = body_of(self.channel.loop).ops
        products = [op for op in ops if is_outstanding(op)]
        if op in products[-1:] and covering_wait([*products, *ops[ops.index(op) + 1:]]) is None:
            b.extend(waits_for(products, len(products)))

    def after(self, b: Builder, at: Position, following: Sequence[Op]) -> int:
        if covering_wait(following[:1]) is None:
            b.extend(waits_for(body_of(self.channel.loop).ops))
        return 0


class Handing(Staging):
    """Rings filled by threads early in an iteration that waits for its MMAs, or those of the one before. An mbarrier
    counts the warps that have stored, so that warpgroups need not meet:

        shared_store(buffer=%ring, slot=%slot, value=%v)                    // while an MMA executes
        proxy_fence()
        mbarrier_arrive(barriers=%full, slot=%slot)
        ...
        mbarrier_wait(barriers=%full, slot=%slot, parity=%parity)
        ...                                                                 // MMAs read the slot

    A warp stores where MMAs of two iterations ago have read, or three if the next iteration waits for them: it has
    waited for the stores of the iteration before, and every warp made these after it had waited for those MMAs.
    """

    guarded = True

    def read_at_once(self, transfer: Transfer) -> Sequence[Op]:
        return ()

    def allocate(self, b: Builder) -> None:
        super().allocate(b)
        self.ring.full = b.value(SharedAlloc(type=SharedType(int64, (), self.ring.slots)), "full")
        b.emit(MbarrierInit(barriers=self.ring.full, count=self.warps))

    def start(self, b: Builder, transfer: Transfer, at: Position) -> None:
        super().start(b, transfer, at)
        if transfer is self.channel.transfers[-1]:
            b.emit(MbarrierArrive(barriers=self.ring.full, slot=at.slot, active=None))

    wait = Tma.wait
