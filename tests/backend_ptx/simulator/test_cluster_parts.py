"""What blocks of a cluster have of their own, what they share, and when they may reach each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.simulator.hopper import emit
from support.simulator.steps import Kernel

from tilewright.backend_ptx.instructions.table import instruction
from tilewright.backend_ptx.llvm.builder import Val
from tilewright.backend_ptx.simulator import Deadlock, LeftBlock, OutOfRange, Race, SimError, TensorMapArgument

SCHEDULES: list[dict[str, Any]] = [{}, {"schedule": "random", "seed": 1}, {"schedule": "random", "seed": 2}]
every_schedule = pytest.mark.parametrize("how", SCHEDULES)
YES = Val("i1", 0, "true")
THREADS = 64


class Blocks(Kernel):
    """A kernel whose blocks know their places."""

    def __init__(self) -> None:
        super().__init__()
        self.rank, self.block = self.special("cluster.ctarank"), self.special("ctaid.x")
        self.first = self.b.icmp("eq", self.tid, 0)

    def i32(self, value: int) -> Val:
        return self.b.const("i32", value)

    def do(self, name: str, *operands: Val) -> None:
        emit(self.b, name, *operands)

    def there(self) -> Val:
        """The start of the next block's shared memory."""
        other = self.b.xor(self.rank, 1)
        return self.b.or_(self.b.and_(self.base, 0xFFFFFF), self.b.shl(other, 24))

    def shared(self, address: Val) -> Val:
        return instruction("ld.shared.b32").emit1(self.b, address, YES, self.i32(0))

    def words(self, value: Val) -> None:
        """One word of %out per thread of the grid."""
        self.out(value, self.b.add(self.b.mul(self.block, THREADS), self.tid))

    def numbers(self, grid: int = 4, threads: int = THREADS, **how: Any) -> list[int]:
        return self.result(threads, grid, cluster=2, **how).view(np.uint32).tolist()


# ---- what is a block's own ----

SPECIAL: dict[str, Callable[[int, int], int]] = {
    "tid.x": lambda block, tid: tid, "ntid.x": lambda block, tid: THREADS, "ctaid.x": lambda block, tid: block,
    "nctaid.x": lambda block, tid: 4, "cluster.ctarank": lambda block, tid: block % 2,
    "warpid": lambda block, tid: tid // 32, "laneid": lambda block, tid: tid % 32,
}


@pytest.mark.parametrize("name", SPECIAL)
def test_special_registers(name: str) -> None:
    for how in SCHEDULES[:2]:
        kernel = Blocks()
        kernel.words(kernel.special(name))
        assert kernel.numbers(**how) == [SPECIAL[name](block, tid) for block in range(4) for tid in range(THREADS)]


@every_schedule
def test_shared_memory_and_barriers(how: dict[str, Any]) -> None:
    kernel = Blocks()
    b = kernel.b
    mine = b.add(kernel.base, b.mul(kernel.tid, 4))
    kernel.do("st.shared.b32", mine, YES, b.add(b.mul(kernel.block, 1000), kernel.tid))
    kernel.do("bar.sync")
    value = kernel.shared(b.add(kernel.base, b.mul(b.xor(kernel.tid, 63), 4)))
    kernel.do("bar.sync.named", kernel.i32(1), kernel.i32(THREADS))
    kernel.do("st.shared.b32", mine, YES, value)
    kernel.words(value)
    assert kernel.numbers(**how) == [1000 * block + (tid ^ 63) for block in range(4) for tid in range(THREADS)]


@every_schedule
def test_a_named_barrier_counts_threads_of_its_block(how: dict[str, Any]) -> None:
    """32 threads of each block: together as many as are expected, in no block enough."""
    kernel = Blocks()
    half = kernel.b.icmp("ult", kernel.tid, 32)
    kernel.only(half, lambda: kernel.do("bar.sync.named", kernel.i32(1), kernel.i32(64)))
    with pytest.raises(Deadlock, match="wait for barrier 1"):
        kernel.numbers(**how)


@every_schedule
def test_registers_come_from_the_pool_of_the_block(how: dict[str, Any]) -> None:
    """The second block asks for more than it has, and the first one has given enough."""
    kernel = Blocks()
    b = kernel.b
    kernel.only(b.icmp("eq", kernel.rank, 0), lambda: kernel.do("setmaxnreg.dec.24"))
    taker = b.and_(b.icmp("eq", kernel.rank, 1), b.icmp("ult", kernel.tid, 128))
    kernel.only(taker, lambda: kernel.do("setmaxnreg.inc.240"))
    with pytest.raises(Deadlock, match="of which the block's pool has 0"):
        kernel.numbers(2, 384, **how)


def _generic(kernel: Blocks, there: Val) -> None:
    b = kernel.b
    b.store(kernel.tid, b.cast("addrspacecast", b.cast("inttoptr", there, "ptr addrspace(3)"), "ptr"), 4)


STRAY: dict[str, Callable[[Blocks, Val], Any]] = {
    "load": lambda k, there: k.shared(there),
    "store": lambda k, there: k.do("st.shared.b32", there, YES, k.tid),
    "generic store": _generic,
    "cp.async": lambda k, there: k.do("cp.async.ca.4", there, Val("ptr addrspace(1)", 0, "%out"), k.i32(4)),
    "mbarrier.init": lambda k, there: k.do("mbarrier.init", there, k.i32(1)),
    "mbarrier.arrive": lambda k, there: k.do("mbarrier.arrive", there, YES),
    "mbarrier.wait": lambda k, there: k.do("mbarrier.wait", there, k.i32(0)),
    "mbarrier.arrive.remote": lambda k, there: k.do("mbarrier.arrive.remote", there, k.rank, YES),
    "tma.load": lambda k, there: k.do("tma.load.1d", there, Val("ptr", 0, "%map"), k.base, k.i32(0), YES),
    "mbarrier of tma.load": lambda k, there: k.do(
        "tma.load.1d", k.b.add(k.base, 128), Val("ptr", 0, "%map"), there, k.i32(0), YES),
    "tma.load.multicast": lambda k, there: k.do(
        "tma.load.multicast.1d", there, Val("ptr", 0, "%map"), k.base, k.i32(0), k.b.const("i16", 3), YES),
}


@pytest.mark.parametrize("name", STRAY)
def test_ordinary_instructions_reach_the_own_block_only(name: str) -> None:
    kernel = Blocks()
    initialise(kernel)
    kernel.only(kernel.first, lambda: STRAY[name](kernel, kernel.there()))
    kernel.do("cluster.sync")
    out = np.zeros(128, np.float32)
    params = 'ptr byval([128 x i8]) align 64 "nvvm.grid_constant" %map, ptr addrspace(1) %out'
    with pytest.raises(OutOfRange, match="names the shared memory of block [01] of the cluster, with"):
        kernel.run([TensorMapArgument(out, (0,), (32,)), out], params, THREADS, 2, cluster=2)


# ---- what blocks do to each other ----


def initialise(kernel: Blocks, count: int = 1) -> None:
    """An mbarrier at the start of each block's memory, which the whole cluster knows."""
    def init() -> None:
        kernel.do("mbarrier.init", kernel.base, kernel.i32(count))
        kernel.do("fence.mbarrier_init")

    kernel.only(kernel.first, init)
    kernel.do("cluster.sync")


def tell(kernel: Blocks) -> None:
    """The first thread of each block arrives at the other."""
    kernel.do("mbarrier.arrive.remote", kernel.base, kernel.b.xor(kernel.rank, 1), kernel.first)


@every_schedule
def test_who_waits_for_the_arrivals_may_leave(how: dict[str, Any]) -> None:
    kernel = Blocks()
    initialise(kernel)
    tell(kernel)
    kernel.only(kernel.first, lambda: kernel.do("mbarrier.wait", kernel.base, kernel.i32(0)))
    kernel.numbers(**how)


@every_schedule
def test_who_waits_for_the_cluster_may_leave(how: dict[str, Any]) -> None:
    """Only the first warps do; the others have left."""
    kernel = Blocks()
    initialise(kernel)
    tell(kernel)
    kernel.only(kernel.b.icmp("ult", kernel.tid, 32), lambda: kernel.do("cluster.sync"))
    kernel.numbers(**how)


@every_schedule
def test_who_waits_for_nothing_may_not_leave(how: dict[str, Any]) -> None:
    kernel = Blocks()
    initialise(kernel)
    tell(kernel)
    with pytest.raises(LeftBlock):
        kernel.numbers(**how)


@every_schedule
def test_another_warp_than_the_one_that_arrives_waits_for_the_cluster(how: dict[str, Any]) -> None:
    """So the cluster's barrier says nothing about the arrival."""
    kernel = Blocks()
    initialise(kernel)
    tell(kernel)
    kernel.only(kernel.b.icmp("uge", kernel.tid, 32), lambda: kernel.do("cluster.sync"))
    with pytest.raises(LeftBlock):
        kernel.numbers(**how)


@every_schedule
def test_a_multicast_copy_that_nobody_waits_for(how: dict[str, Any]) -> None:
    """Nor does it help to wait for the cluster: copies land when they like."""
    kernel = Blocks()
    initialise(kernel)
    one = kernel.b.and_(kernel.first, kernel.b.icmp("eq", kernel.rank, 0))
    kernel.do("tma.load.multicast.1d", kernel.b.add(kernel.base, 128), Val("ptr", 0, "%map"), kernel.base,
              kernel.i32(0), kernel.b.const("i16", 2), one)
    kernel.do("cluster.sync")
    out = np.zeros(128, np.float32)
    params = 'ptr byval([128 x i8]) align 64 "nvvm.grid_constant" %map, ptr addrspace(1) %out'
    with pytest.raises(SimError, match=r"nothing waited for the mbarrier at offset 0 .* of block 1"):
        kernel.run([TensorMapArgument(out, (0,), (32,)), out], params, THREADS, 2, cluster=2, **how)


@every_schedule
def test_the_barrier_of_the_cluster_waits_for_all(how: dict[str, Any]) -> None:
    """A warp of one block waits for another thing, that comes after the barrier."""
    kernel = Blocks()
    b = kernel.b
    initialise(kernel, 2)
    late = b.and_(b.icmp("eq", kernel.rank, 1), b.icmp("ult", kernel.tid, 32))
    kernel.only(late, lambda: kernel.do("mbarrier.wait", kernel.base, kernel.i32(0)))
    kernel.do("cluster.sync")
    kernel.do("mbarrier.arrive.remote", kernel.base, kernel.i32(1), kernel.first)
    with pytest.raises(Deadlock, match="the barrier of the cluster, where 32 threads have not arrived"):
        kernel.numbers(**how)


@every_schedule
def test_a_rank_that_does_not_exist(how: dict[str, Any]) -> None:
    kernel = Blocks()
    initialise(kernel)
    kernel.do("mbarrier.arrive.remote", kernel.base, kernel.i32(2), kernel.first)
    with pytest.raises(SimError, match="block 2 of a cluster of 2 blocks"):
        kernel.numbers(**how)


# ---- global memory ----


def exchange(steps: list[str], **how: Any) -> list[int]:
    """Each block stores words in global memory and reads those of the other block of its cluster."""
    kernel = Blocks()
    b = kernel.b
    out = Val("ptr addrspace(1)", 0, "%out")
    initialise(kernel)

    def told() -> None:
        tell(kernel)
        kernel.do("mbarrier.wait", kernel.base, kernel.i32(0))

    actions: dict[str, Callable[[], Any]] = {
        "store": lambda: kernel.words(b.add(kernel.block, 7)), "cluster": lambda: kernel.do("cluster.sync"),
        "barrier": lambda: kernel.do("bar.sync"), "tell": told,
    }
    for step in steps:
        actions[step]()
    other = b.add(b.mul(b.xor(kernel.block, 1), THREADS), kernel.tid)
    value = instruction("ld.global.b32").emit1(b, b.gep(out, b.mul(other, 4)), YES, kernel.i32(0))
    kernel.do("cluster.sync")
    kernel.words(value)
    return kernel.numbers(**how)


@every_schedule
def test_the_barrier_of_the_cluster_orders_global_memory(how: dict[str, Any]) -> None:
    assert exchange(["store", "cluster"], **how) == [7 + (block ^ 1) for block in range(4) for _ in range(THREADS)]


@every_schedule
@pytest.mark.parametrize("steps", [["store"], ["store", "barrier"], ["store", "barrier", "tell"]])
def test_nothing_less_orders_global_memory(steps: list[str], how: dict[str, Any]) -> None:
    """Arrivals that name no scope release to their own block alone (PTX ISA, "mbarrier.arrive")."""
    with pytest.raises(Race):
        exchange(steps, **how)


def summed(counter: str, **how: Any) -> np.ndarray:
    """Each block stores words; the one that is last to count itself reads those of all."""
    kernel = Blocks()
    b = kernel.b
    words, total = Val("ptr addrspace(1)", 0, "%words"), Val("ptr addrspace(1)", 0, "%out")
    at = b.mul(b.add(b.mul(kernel.block, THREADS), kernel.tid), 4)
    kernel.do("st.global.b32", b.gep(words, at), YES, b.add(kernel.block, 1))
    kernel.do("bar.sync")
    before = instruction(counter).emit1(
        b, Val("ptr addrspace(1)", 0, "%count"), kernel.first, kernel.i32(0), kernel.i32(1))
    kernel.do("st.shared.b32", kernel.base, kernel.first, before)
    kernel.do("bar.sync")

    def add() -> None:
        pieces = [instruction("ld.global.b32").emit1(
            b, b.gep(words, b.mul(b.add(kernel.tid, THREADS * block), 4)), YES, kernel.i32(0)) for block in range(4)]
        found = b.add(b.add(pieces[0], pieces[1]), b.add(pieces[2], pieces[3]))
        kernel.do("st.global.b32", b.gep(total, b.mul(kernel.tid, 4)), YES, found)

    kernel.only(b.icmp("eq", kernel.shared(kernel.base), 3), add)
    out, pointer = np.zeros(THREADS, np.uint32), "ptr addrspace(1)"
    arrays = [np.zeros(4 * THREADS, np.uint32), np.zeros(1, np.uint32), out]
    kernel.run(arrays, f"{pointer} %words, {pointer} %count, {pointer} %out", THREADS, 4, cluster=2, **how)
    return out


@every_schedule
def test_atomics_order_blocks_of_a_cluster_as_they_do_others(how: dict[str, Any]) -> None:
    assert (summed("atom.add.u32.acq_rel.gpu", **how) == 1 + 2 + 3 + 4).all()


@every_schedule
@pytest.mark.parametrize("order", ["relaxed.gpu", "release.gpu", "acquire.gpu", "acq_rel.cta"])
def test_weaker_atomics_do_not(order: str, how: dict[str, Any]) -> None:
    with pytest.raises(Race):
        summed(f"atom.add.u32.{order}", **how)
