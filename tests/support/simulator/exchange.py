"""Exchanges of partial sums between the blocks of a cluster, written as lists of steps for the simulator's tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from support.simulator.hopper import emit
from support.simulator.steps import OUT, Kernel

from tilewright.backend_ptx.instructions.record import Instruction
from tilewright.backend_ptx.instructions.table import instruction
from tilewright.backend_ptx.llvm.builder import Val
from tilewright.backend_ptx.simulator import SimError
from tilewright.backend_ptx.simulator.text.records import declare

every_schedule = pytest.mark.parametrize(
    "how", [{}, *({"schedule": "random", "seed": seed} for seed in (1, 2, 3))])
YES = Val("i1", 0, "true")
THREADS = 64
_LOW = 20  # zero bits below a number in a slot of 8 bytes, so that both its words count
_BARRIERS = 12 << 10  # where mbarriers are


def remote_store(size: int) -> Instruction:
    """Writes to the shared memory of another block of the cluster, which a barrier of it has to order; no pass makes it
    (st.async is faster). Operands: address in this block, rank of the other, value, predicate."""
    text = f"""{{
.reg .b32 there;
mapa.shared::cluster.u32 there, $0, $1;
@$3 st.shared::cluster.b{8 * size} [there], $2;
}}"""
    return declare(Instruction(
        f"cluster.store.b{8 * size}", text, ("i32", "i32", f"i{8 * size}", "i1"), (), "cluster_store", {"size": size},
        reads=True, writes=True, sm=90, ptx=80))


@dataclass(frozen=True)
class Exchange:
    """A sum over the blocks of a cluster of what each knows of every row, in `rounds` of a loop.

    Every block has a slot per block and row; the steps `store` and `read` fill and sum them, a thread per row. What a
    thread reads has been stored by another warp, also where its own block has stored it. The steps `expect`, `send` and
    `await` do without barriers of the cluster; bytes count on mbarriers. Rounds take `slots` and mbarriers in turn.
    """

    cluster: int = 2
    rounds: int = 1
    size: int = 4
    slots: int = 1
    barriers: int = 2
    start: tuple[str, ...] = ("arrive",)
    round: tuple[str, ...] = ("wait", "store", "arrive", "wait", "read", "arrive")
    end: tuple[str, ...] = ("wait",)

    def run(self, **how: Any) -> tuple[np.ndarray, np.ndarray]:
        """Run two clusters. Returns what they find and what is right, [blocks, rows]."""
        known = np.random.default_rng(0).integers(0, 1 << 16, (2 * self.cluster, self.rounds, THREADS), np.uint32)
        out = np.zeros((2 * self.cluster, THREADS), np.uint32)
        params = "ptr addrspace(1) %known, ptr addrspace(1) %out"
        _Kernel(self).run([known, out], params, THREADS, 2 * self.cluster, cluster=self.cluster, **how)
        return out, self._wanted(known)

    def _wanted(self, known: np.ndarray) -> np.ndarray:
        total = np.zeros((2, THREADS), np.uint32)
        weights = np.arange(1, self.cluster + 1, dtype=np.uint32)
        for now in np.moveaxis(known.reshape(2, self.cluster, self.rounds, THREADS), 2, 0):
            total = total * np.uint32(5) + np.einsum("cbt,b->ct", now, weights)[:, np.arange(THREADS) ^ 32]
        return np.repeat(total, self.cluster, axis=0)


class _Kernel(Kernel):
    """The text of an exchange."""

    def __init__(self, form: Exchange) -> None:
        super().__init__()
        self.form = form
        self.rank, self.block = self.special("cluster.ctarank"), self.special("ctaid.x")
        self.now = self.total = self.i32(0)
        self._steps(form.start)
        self._loop()
        self._steps(form.end)
        self.out(self.total, self.b.add(self.b.mul(self.block, THREADS), self.tid))

    def i32(self, value: int) -> Val:
        return self.b.const("i32", value)

    def _loop(self) -> None:
        b = self.b
        b.br("before")
        b.start("before")
        b.br("head")
        b.start("head")
        now, total = b.phi("i32"), b.phi("i32")
        for phi in (now, total):
            phi.add(self.i32(0), "before")
        self.now, self.total = now.value, total.value
        b.cbr(b.icmp("slt", self.now, self.form.rounds), "inside", "done")
        b.start("inside")
        self._steps(self.form.round)
        now.add(b.add(self.now, 1), b.block)
        total.add(self.total, b.block)
        b.br("head")
        b.start("done")
        self.total = total.value

    def _steps(self, steps: tuple[str, ...]) -> None:
        for step in steps:
            STEPS[step](self)

    # ---- steps ----

    def do(self, name: str) -> None:
        emit(self.b, name)

    def place(self, slot: Val, row: Val) -> Val:
        """The address of a slot in this block's memory."""
        b, form = self.b, self.form
        turn = b.mul(b.urem(self.now, form.slots), form.cluster)
        return b.add(self.base, b.mul(b.add(b.mul(b.add(turn, slot), THREADS), row), form.size))

    def store(
        self, slot: Callable[[Val], Val] | None = None, off: int = 0, ranks: range | None = None, send: bool = False,
        row: Val | None = None,
    ) -> None:
        """Tell the blocks what this one knows, in its slot or the one that `slot` finds from the receiver's rank."""
        b, row = self.b, row or self.tid
        at = b.add(b.mul(b.add(b.mul(self.block, self.form.rounds), self.now), THREADS), row)
        pointer = b.gep(Val("ptr addrspace(1)", 0, "%known"), b.mul(at, 4))
        value = instruction("ld.global.b32").emit1(b, pointer, YES, self.i32(0))
        if self.form.size == 8:
            value = b.shl(b.cast("zext", value, "i64"), _LOW)
        for rank in ranks or range(self.form.cluster):
            to = self.i32(rank)
            place = b.add(self.place(slot(to) if slot else self.rank, row), off)
            if send:
                emit(b, f"cluster.send.b{8 * self.form.size}", place, self.barrier(), to, value, YES)
            else:
                remote_store(self.form.size).emit(b, place, to, value, YES)

    def send_both_rows(self) -> None:
        """The first warps send for the second ones."""
        def send() -> None:
            for row in (self.tid, self.b.add(self.tid, 32)):
                self.store(send=True, row=row)

        self.only(self.b.icmp("ult", self.tid, 32), send)

    def barrier(self) -> Val:
        """The address of this round's mbarrier."""
        return self.b.add(self.b.add(self.base, _BARRIERS), self.b.mul(self.b.urem(self.now, self.form.barriers), 8))

    def open(self, fence: bool = True, then: str = "cluster.arrive.relaxed") -> None:
        """Initialise the mbarriers and tell of them."""
        def init() -> None:
            for number in range(self.form.barriers):
                emit(self.b, "mbarrier.init", self.b.add(self.base, _BARRIERS + 8 * number), self.i32(1))
            if fence:
                emit(self.b, "fence.mbarrier_init")

        self.only(self.b.icmp("eq", self.tid, 0), init)
        if then:
            self.do(then)

    def expect(self, more: int = 0) -> None:
        count = self.form.cluster * THREADS * self.form.size + more
        emit(self.b, "mbarrier.expect_tx", self.barrier(), self.i32(count), self.b.icmp("eq", self.tid, 0))

    def wait(self) -> None:
        """For this round's bytes."""
        emit(self.b, "mbarrier.wait", self.barrier(),
             self.b.and_(self.b.udiv(self.now, self.form.barriers), 1))

    def read(self, other: int = 32, ranks: Sequence[Val] = ()) -> None:
        b = self.b
        total = b.mul(self.total, 5)
        for rank, slot in enumerate(ranks or [self.i32(r) for r in range(self.form.cluster)]):
            place, kind = self.place(slot, b.xor(self.tid, other)), f"i{8 * self.form.size}"
            value = instruction(f"ld.shared.b{8 * self.form.size}").emit1(b, place, YES, b.const(kind, 0))
            if self.form.size == 8:
                value = b.cast("trunc", b.lshr(value, _LOW), "i32")
            total = b.add(total, b.mul(value, rank + 1))
        self.total = total

    def leave(self, condition: Val) -> None:
        then, after = self.b.label("then"), self.b.label("after")
        self.b.cbr(condition, then, after)
        self.b.start(then)
        self.b.ret()
        self.b.start(after)

    def stores_elsewhere(self) -> None:
        """An ordinary store reaches no other block."""
        there = self.b.or_(self.b.and_(self.base, 0xFFFFFF), self.b.shl(self.b.xor(self.rank, 1), 24))
        remote_store(4).emit(self.b, there, self.rank, self.tid, YES)

    def publish(self) -> None:
        """Numbers in global memory, which the sums overwrite."""
        at = self.b.add(self.b.mul(self.block, THREADS), self.tid)
        self.out(at, at)

    def look(self) -> None:
        """Read what the neighbour has published; the sum stays if that is right."""
        b = self.b
        other = b.add(b.mul(b.xor(self.block, 1), THREADS), self.tid)
        value = instruction("ld.global.b32").emit1(b, b.gep(OUT, b.mul(other, 4)), YES, self.i32(0))
        self.total = b.add(self.total, b.sub(value, other))


def _last_round(k: _Kernel) -> Val:
    return k.b.icmp("eq", k.now, k.form.rounds - 1)


def is_second(k: _Kernel) -> Val:
    return k.b.icmp("eq", k.rank, 1)


STEPS: dict[str, Callable[[_Kernel], None]] = {
    "arrive": lambda k: k.do("cluster.arrive"), "wait": lambda k: k.do("cluster.wait"),
    "sync": lambda k: k.do("cluster.sync"), "block": lambda k: k.do("bar.sync"),
    "store": lambda k: k.store(), "read": lambda k: k.read(), "read own": lambda k: k.read(other=0),
    "read beside": lambda k: k.read(other=1, ranks=[k.rank]),
    "store to all but the last": lambda k: k.store(ranks=range(k.form.cluster - 1)),
    "store to one more": lambda k: k.store(ranks=range(k.form.cluster + 1)),
    "store in the receiver's slot": lambda k: k.store(slot=lambda to: to),
    "store in the next slot": lambda k: k.store(slot=lambda to: k.b.urem(k.b.add(k.rank, 1), k.form.cluster)),
    "store beyond the end": lambda k: k.store(off=1 << 14),
    "store between words": lambda k: k.store(off=2),
    "store at a peer's address": lambda k: k.stores_elsewhere(),
    "the second block leaves": lambda k: k.leave(is_second(k)),
    "the second block leaves early": lambda k: k.leave(k.b.and_(is_second(k), _last_round(k))),
    "second warps leave": lambda k: k.leave(k.b.icmp("uge", k.tid, 32)),
    "second warps arrive": lambda k: k.only(k.b.icmp("uge", k.tid, 32), lambda: k.do("cluster.arrive")),
    "first warps arrive": lambda k: k.only(k.b.icmp("ult", k.tid, 32), lambda: k.do("cluster.arrive")),
    "first lanes arrive": lambda k: k.only(k.b.icmp("eq", k.b.and_(k.tid, 31), 0), lambda: k.do("cluster.arrive")),
    "other lanes arrive": lambda k: k.only(k.b.icmp("ne", k.b.and_(k.tid, 31), 0), lambda: k.do("cluster.arrive")),
    "mbarrier": lambda k: k.only(
        k.b.icmp("eq", k.tid, 0), lambda: emit(k.b, "mbarrier.init", k.base, k.i32(1))),
    "first warp waits for the mbarrier": lambda k: k.only(
        k.b.and_(is_second(k), k.b.icmp("ult", k.tid, 32)), lambda: emit(k.b, "mbarrier.wait", k.base, k.i32(0))),
    "open": lambda k: k.open(), "expect": lambda k: k.expect(), "send": lambda k: k.store(send=True),
    "first warps send": lambda k: k.send_both_rows(), "await": lambda k: k.wait(),
    "open without fence": lambda k: k.open(fence=False),
    "open with release": lambda k: k.open(fence=False, then="cluster.arrive"),
    "open without arrival": lambda k: k.open(then=""),
    "arrive relaxed": lambda k: k.do("cluster.arrive.relaxed"),
    "expect more": lambda k: k.expect(4), "expect less": lambda k: k.expect(-4),
    "send to all but the last": lambda k: k.store(send=True, ranks=range(k.form.cluster - 1)),
    "send to one more": lambda k: k.store(send=True, ranks=range(k.form.cluster + 1)),
    "send in the receiver's slot": lambda k: k.store(send=True, slot=lambda to: to),
    "publish": lambda k: k.publish(), "look": lambda k: k.look(),
}


# By name: an exchange, what must be reported of it, whatever the schedule, and words of that.
Defects = dict[str, tuple[Exchange, tuple[type[SimError], ...] | type[SimError], str]]


def once(*steps: str, **sizes: int) -> Exchange:
    """One round of these steps and nothing else."""
    return Exchange(start=(), round=steps, end=(), **sizes)


def rounds(
    *steps: str, start: tuple[str, ...] = ("arrive",), end: tuple[str, ...] = ("wait",), **sizes: int
) -> Exchange:
    """Several rounds of these steps."""
    return Exchange(**{"rounds": 3, **sizes}, start=start, round=steps, end=end)
