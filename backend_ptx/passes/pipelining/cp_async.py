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

If wgmma read the slots, copies start after them. As these may be outstanding in the next iteration, the ring has one
more slot. The tiles that a gather's indices need are loaded one iteration earlier and carried in registers.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.backend_ptx.ops.async_copy import AsyncCommit, AsyncGather, AsyncLoad, AsyncWait
from tilewright.backend_ptx.ops.engines import CP_ASYNC
from tilewright.backend_ptx.ops.matmul import is_outstanding, waits_for
from tilewright.backend_ptx.ops.warpgroup import proxy_fences
from tilewright.backend_ptx.passes.flow import body_of, carry, hand_on
from tilewright.backend_ptx.passes.pipelining.addresses import may_be_cut
from tilewright.backend_ptx.passes.pipelining.emit import Carrier, Constants, Position
from tilewright.backend_ptx.passes.pipelining.iterations import Lead, clone
from tilewright.backend_ptx.passes.pipelining.transfers import Channel, Recurrence, Transfer
from tilewright.tileir.analysis.facts import Facts
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Op, Value
from tilewright.tileir.enums import PaddingMode
from tilewright.tileir.ops.memory import Gather, Load


class AsyncCopies(Carrier):
    """The channel of a loop whose tiles all threads copy by cp.async."""

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
        if self.channel.late:
            self.emit(b, proxy_fences(CP_ASYNC, self.products))
        else:
            self._later(b, at)

    def behind(self, b: Builder, op: Op, at: Position) -> None:
        if op in self.products[-1:]:
            # The copies overlap with these MMAs, and fill the slot of the previous iteration's.
            self._later(b, at)
            self.emit(b, waits_for(self.products, len(self.products)))

    def after(self, b: Builder, at: Position, following: Sequence[Op]) -> int:
        if self.channel.late:
            self.emit(b, waits_for(self.products))
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

    def _start(
        self, transfer: Transfer, slot: Value, ahead: int, active: Value, mapping: dict[Value, Value],
    ) -> AsyncLoad | AsyncGather:
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
