"""Blocks of a cluster exchange partial sums through each other's shared memory, and all that this can miss."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from sim import Deadlock, LeftBlock, Misaligned, NotStarted, OutOfRange, Race, SimError, UnwrittenRead
from sim_hopper import emit
from sim_kernel import OUT, Kernel

from tilewright.backend_ptx.instructions.table import instruction
from tilewright.backend_ptx.llvm.builder import Val

SCHEDULES: list[dict[str, Any]] = [{}, *({"schedule": "random", "seed": seed} for seed in (1, 2, 3))]
every_schedule = pytest.mark.parametrize("how", SCHEDULES)
YES = Val("i1", 0, "true")
THREADS = 64
_LOW = 20  # zero bits below a number in a slot of 8 bytes, so that both its words count


@dataclass(frozen=True)
class Exchange:
    """A sum over the blocks of a cluster of what each knows of every row, in `rounds` of a loop.

    Every block has a slot per block and row; the steps `store` and `read` fill and sum them, a thread per row. What a
    thread reads has been stored by another warp, also where its own block has stored it.
    """

    cluster: int = 2
    rounds: int = 1
    size: int = 4
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
        b = self.b
        return b.add(self.base, b.mul(b.add(b.mul(slot, THREADS), row), self.form.size))

    def store(self, slot: Callable[[Val], Val] | None = None, off: int = 0, ranks: range | None = None) -> None:
        """Tell the blocks what this one knows, in its slot or the one that `slot` finds from the receiver's rank."""
        b = self.b
        at = b.add(b.mul(b.add(b.mul(self.block, self.form.rounds), self.now), THREADS), self.tid)
        pointer = b.gep(Val("ptr addrspace(1)", 0, "%known"), b.mul(at, 4))
        value = instruction("ld.global.b32").emit1(b, pointer, YES, self.i32(0))
        if self.form.size == 8:
            value = b.shl(b.cast("zext", value, "i64"), _LOW)
        for rank in ranks or range(self.form.cluster):
            to = self.i32(rank)
            place = b.add(self.place(slot(to) if slot else self.rank, self.tid), off)
            emit(b, f"cluster.store.b{8 * self.form.size}", place, to, value, YES)

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
        emit(self.b, "cluster.store.b32", there, self.rank, self.tid, YES)

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


def _is_second(k: _Kernel) -> Val:
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
    "the second block leaves": lambda k: k.leave(_is_second(k)),
    "the second block leaves early": lambda k: k.leave(k.b.and_(_is_second(k), _last_round(k))),
    "second warps leave": lambda k: k.leave(k.b.icmp("uge", k.tid, 32)),
    "second warps arrive": lambda k: k.only(k.b.icmp("uge", k.tid, 32), lambda: k.do("cluster.arrive")),
    "first warps arrive": lambda k: k.only(k.b.icmp("ult", k.tid, 32), lambda: k.do("cluster.arrive")),
    "first lanes arrive": lambda k: k.only(k.b.icmp("eq", k.b.and_(k.tid, 31), 0), lambda: k.do("cluster.arrive")),
    "other lanes arrive": lambda k: k.only(k.b.icmp("ne", k.b.and_(k.tid, 31), 0), lambda: k.do("cluster.arrive")),
    "mbarrier": lambda k: k.only(
        k.b.icmp("eq", k.tid, 0), lambda: emit(k.b, "mbarrier.init", k.base, k.i32(1))),
    "first warp waits for the mbarrier": lambda k: k.only(
        k.b.and_(_is_second(k), k.b.icmp("ult", k.tid, 32)), lambda: emit(k.b, "mbarrier.wait", k.base, k.i32(0))),
    "publish": lambda k: k.publish(), "look": lambda k: k.look(),
}

TWO, LOOP = Exchange(), Exchange(rounds=3)
FORMS = {
    "two": TWO,
    "four": Exchange(4),
    "in a loop": LOOP,
    "four in a loop": Exchange(4, 3),
    "eight bytes": Exchange(2, 2, 8),
    "whole barriers": replace(LOOP, start=("sync",), round=("store", "sync", "read", "sync"), end=()),
    "halves meet whole barriers": replace(LOOP, round=("wait", "store", "sync", "read", "arrive")),
    "a barrier of the block between": replace(
        LOOP, round=("wait", "store", "arrive", "block", "wait", "read", "arrive")),
    "warps arrive one after the other": replace(
        LOOP, round=("wait", "store", "second warps arrive", "first warps arrive", "wait", "read", "arrive")),
    "lanes arrive one after the other": replace(
        LOOP, round=("wait", "store", "block", "first lanes arrive", "other lanes arrive", "wait", "read", "arrive")),
    "nobody waits after the last arrival": replace(LOOP, end=()),
    "global memory too": replace(LOOP, end=("wait", "publish", "arrive", "wait", "look", "sync")),
    "global memory before the arrival": replace(LOOP, end=("publish", "wait", "sync", "look", "arrive", "wait")),
}


@every_schedule
@pytest.mark.parametrize("name", FORMS)
def test_sums_are_right(name: str, how: dict[str, Any]) -> None:
    np.testing.assert_array_equal(*FORMS[name].run(**how))


def rounds(*steps: str, start: tuple[str, ...] = ("arrive",), end: tuple[str, ...] = ("wait",)) -> Exchange:
    """Three rounds of these steps."""
    return Exchange(rounds=3, start=start, round=steps, end=end)


def once(*steps: str) -> Exchange:
    """One round of these steps and nothing else."""
    return Exchange(start=(), round=steps, end=())


_UNORDERED = (Race, UnwrittenRead)
# What must be reported, whatever the schedule, and words of it.
DEFECTS: dict[str, tuple[Exchange, tuple[type[SimError], ...] | type[SimError], str]] = {
    "peers may not have started": (once("store", "sync", "read"), NotStarted, "block [01] .* may not have started"),
    "nobody waits for the peers' start": (
        once("arrive", "store", "wait", "sync", "read"), NotStarted, "block [01] .* may not have started"),
    "slots are stored again while peers read them": (
        rounds("store", "sync", "read", start=("sync",), end=("sync",)), Race, "with no barrier between"),
    "the arrival after which peers store comes before the reads": (
        rounds("wait", "store", "arrive", "wait", "arrive", "read"), Race, "with no barrier between"),
    "the peers that read are waited for after the stores": (
        rounds("store", "wait", "sync", "read", "arrive", start=("sync", "arrive")), Race, "with no barrier between"),
    "stores are not waited for": (rounds("wait", "store", "read", "arrive"), _UNORDERED, "reads"),
    "lanes of the warp that has stored are not waited for": (
        once("sync", "store", "arrive", "read beside", "wait"), Race, "another lane|reads what thread"),
    "stores are waited for after the reads": (once("sync", "store", "arrive", "read", "wait"), _UNORDERED, "reads"),
    "stores are waited for after the reads, in a loop": (
        rounds("wait", "store", "arrive", "read", "wait", "arrive"), _UNORDERED, "reads"),
    "the arrival comes before the stores": (once("sync", "arrive", "store", "wait", "read"), _UNORDERED, "reads"),
    "the arrival comes before the stores, in a loop": (
        rounds("wait", "arrive", "store", "wait", "read", "arrive"), _UNORDERED, "reads"),
    "only the block's own barrier": (once("sync", "store", "block", "read", "sync"), _UNORDERED, "reads"),
    "a warp has arrived before it stores": (
        once("sync", "second warps arrive", "store", "first warps arrive", "wait", "read"), _UNORDERED, "reads"),
    "lanes arrive apart, with no barrier after the stores": (
        once("sync", "store", "first lanes arrive", "other lanes arrive", "wait", "read"), _UNORDERED, "reads"),
    "all store in the receiver's slot": (once("sync", "store in the receiver's slot", "sync", "read"), Race, "write"),
    "a block is told nothing": (
        once("sync", "store to all but the last", "sync", "read"), UnwrittenRead, "of block 1 .* nothing has written"),
    "there is no such block": (once("sync", "store to one more"), SimError, "block 2 of a cluster of 2 blocks"),
    "beyond the end": (once("sync", "store beyond the end"), OutOfRange, "offset 16[0-9]+ of"),
    "between words": (once("sync", "store between words"), Misaligned, "multiple of 4"),
    "a peer's address": (once("sync", "store at a peer's address"), OutOfRange, "reaches that of its own block only"),
    "onto an mbarrier": (once("mbarrier", "sync", "store"), Race, "touches an mbarrier"),
    "two arrivals": (once("arrive", "arrive"), SimError, "arrives at .* twice, with no wait"),
    "two arrivals, one of which waits": (once("arrive", "sync"), SimError, "arrives at .* twice, with no wait"),
    "two arrivals, two waits": (once("arrive", "wait", "arrive", "arrive"), SimError, "arrives at .* twice"),
    "no arrival": (once("wait"), SimError, "without having arrived"),
    "an arrival, two waits": (once("sync", "arrive", "wait", "wait"), SimError, "without having arrived"),
    "the other warps only arrive": (once("second warps arrive", "wait"), SimError, "without having arrived"),
    "a block leaves after its arrival": (
        once("sync", "store", "arrive", "the second block leaves", "wait", "read"), LeftBlock, "block 1"),
    "a block leaves after its stores and never arrives": (
        once("sync", "store", "the second block leaves", "sync", "read"), (LeftBlock, Race), "block 1|with no barrier"),
    "a block leaves in the last round": (
        rounds("the second block leaves early", "wait", "store", "arrive", "wait", "read", "arrive"), LeftBlock,
        "block 1"),
    "the last stores are not waited for": (
        rounds("wait", "store", "sync", "read", "arrive", end=("wait", "store", "arrive")), LeftBlock,
        "may leave|has left"),
    "global memory read between arrival and wait": (
        rounds("wait", "store", "sync", "read", "arrive", end=("wait", "publish", "arrive", "look", "wait", "sync")),
        Race, "with no barrier"),
    "global memory written between arrival and wait": (
        rounds("wait", "store", "sync", "read", "arrive", end=("publish", "wait", "look", "sync")), Race,
        "with no barrier"),
}


@every_schedule
@pytest.mark.parametrize("name", DEFECTS)
def test_defect_is_caught(name: str, how: dict[str, Any]) -> None:
    form, errors, words = DEFECTS[name]
    with pytest.raises(errors, match=words):
        form.run(**how)


@every_schedule
def test_numbers_of_wrong_slots_are_wrong(how: dict[str, Any]) -> None:
    """Nothing else is: slots have one writer each."""
    found, right = once("sync", "store in the next slot", "sync", "read", "sync").run(**how)
    assert (found != right).all()


@every_schedule
@pytest.mark.parametrize("steps", [("second warps leave", "sync"), ("arrive", "second warps leave", "wait")])
def test_who_has_left_counts_as_arrived(steps: tuple[str, ...], how: dict[str, Any]) -> None:
    found, right = once(*steps, "store", "sync", "read own").run(**how)
    np.testing.assert_array_equal(found[:, :32], right[:, 32:])
    assert not found[:, 32:].any()


@every_schedule
def test_the_barrier_waits_for_all(how: dict[str, Any]) -> None:
    """A warp of one block waits for another thing first, which comes after the barrier."""
    form = once("mbarrier", "sync", "first warp waits for the mbarrier", "arrive", "wait")
    with pytest.raises(Deadlock, match="the barrier of the cluster, where 32 threads have not arrived"):
        form.run(**how)
