"""Rings filled by threads: they store operands that they computed, and a proxy fence makes these visible to wgmma.

    shared_store(buffer=%ring, slot=%slot, value=%v)                    // while MMAs of the last iteration execute
    proxy_fence()
    ...                                                                 // MMAs read the slot
    wgmma_wait(accs=(), pending=1)

With three slots an iteration has one barrier, between its stores and its MMAs. The MMAs of three iterations ago read
the same slot; every thread has waited for them before the barrier of the previous iteration. With two slots a second
barrier stands before the stores.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.backend_ptx.ops.matmul import is_outstanding, left_outstanding, waits_for
from tilewright.backend_ptx.ops.shared import SharedStore
from tilewright.backend_ptx.ops.warpgroup import Stage, proxy_fences
from tilewright.backend_ptx.passes.flow import body_of
from tilewright.backend_ptx.passes.pipelining.emit import Carrier, Position
from tilewright.backend_ptx.passes.pipelining.transfers import Transfer
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Op
from tilewright.tileir.engines import THREADS


class Staging(Carrier):
    """The channel of a loop whose tiles threads compute."""

    def read_at_once(self, transfer: Transfer) -> Sequence[Op]:
        return transfer.stages

    def start(self, b: Builder, transfer: Transfer, at: Position) -> None:
        assert isinstance(transfer.source, Stage)
        b.emit(SharedStore(buffer=self.channel.buffer(transfer), slot=at.slot, value=transfer.source.src))
        self.emit(b, proxy_fences(THREADS, body_of(self.channel.loop).ops))

    def behind(self, b: Builder, op: Op, at: Position) -> None:
        ops = body_of(self.channel.loop).ops
        products = [op for op in ops if is_outstanding(op)]
        if op in products[-1:] and not _is_waited(ops[ops.index(op) + 1:], len(products)):
            self.emit(b, waits_for(products, len(products)))

    def after(self, b: Builder, at: Position, following: Sequence[Op]) -> int:
        if not _is_waited(following[:1], 0):
            self.emit(b, waits_for(body_of(self.channel.loop).ops))
        return 0


def _is_waited(following: Sequence[Op], pending: int) -> bool:
    """Whether one of these ops waits until at most `pending` MMAs are outstanding."""
    return any((left := left_outstanding(op)) is not None and left <= pending for op in following)
