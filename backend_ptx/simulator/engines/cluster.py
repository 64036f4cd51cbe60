"""Meanings of what reaches other CTAs of a cluster: arrivals on their mbarriers, stores, multicast copies.

A block's shared memory is there from its first thread's start until its last thread leaves. So whatever reaches it
from other blocks must come, for certain, after one of its threads has told of itself, and while one is there: that
thread must have waited for it, or for something after it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.backend_ptx.simulator.engines.bulk import each_thread, signed_all, start_load
from tilewright.backend_ptx.simulator.engines.mbarrier import Mbarrier, arriving, chosen, mbarrier_at, whole
from tilewright.backend_ptx.simulator.errors import LeftBlock, NotStarted, SimError
from tilewright.backend_ptx.simulator.machine.code import Operation
from tilewright.backend_ptx.simulator.machine.compile import FunctionCompiler
from tilewright.backend_ptx.simulator.machine.state import WARP, BlockState, Machine, Registers
from tilewright.backend_ptx.simulator.memory.in_flight import begin_send, land
from tilewright.backend_ptx.simulator.memory.shared import peer, peers
from tilewright.backend_ptx.simulator.memory.tensor_map import find_map
from tilewright.backend_ptx.simulator.text.ir import LlvmInstruction
from tilewright.tileir.clocks import Message, merge_messages

Array = np.ndarray[Any, Any]
Facts = Mapping[str, Any]


def _require_block(m: Machine, rank: int, thread: int, what: str) -> None:
    """The block exists and has not left."""
    if rank >= m.cluster:
        raise SimError(f"{what} block {rank} of a cluster of {m.cluster} blocks", [thread])
    if m.exited[m.ranks == rank].all():
        raise LeftBlock(f"{what} block {rank} of the cluster, which has left the kernel", [thread])


def mbarrier_arrive_remote(c: FunctionCompiler, i: LlvmInstruction, facts: Facts) -> Operation:
    address, rank, predicate = (c.slot(o) for o in i.operands)

    def run(m: Machine, r: Registers) -> None:
        where, ranks = m.spread(r[address]), m.spread(r[rank])
        for thread, all_lanes in arriving(m, r, predicate):
            _arrive(m, thread, int(where[thread]), int(ranks[thread]), all_lanes)

    return run


def _arrive(m: Machine, thread: int, address: int, rank: int, all_lanes: bool) -> None:
    m.memory.shared.find(address, thread)  # it must be the thread's own
    _require_block(m, rank, thread, "an arrival in")
    barrier = mbarrier_at(m, peer(address, rank), thread, anywhere=True)
    warp, own = thread // WARP, bool(rank == m.ranks[thread])
    if not own:
        m.of_block(_RemoteArrivals).note(m, barrier, warp)
    # The instruction names no scope, so what it releases is ordered for its own block; shared memory is the exception
    # on which every ring relies: reads are over when a thread goes on.
    barrier.arrive(m, warp, all_lanes, thread, far=own)


class _RemoteArrivals(BlockState):
    """The arrivals of each warp on mbarriers of other blocks: at which time of its own, and in which phase."""

    def __init__(self, machine: Machine) -> None:
        self.latest: dict[tuple[int, int], tuple[Mbarrier, int, int]] = {}

    def note(self, m: Machine, barrier: Mbarrier, warp: int) -> None:
        """A warp arrives."""
        self.latest[barrier.offset, warp] = (barrier, int(m.memory.clocks.now[warp]), barrier.phase)

    def check(self, machine: Machine) -> None:
        """Blocks have waited for everything that came from other blocks."""
        m = machine
        for (_, warp), (barrier, time, phase) in self.latest.items():
            if phase > barrier.last_seen and not _knows(m, barrier.maker // m.block_warps, warp, time):
                raise LeftBlock(
                    f"a block may leave before the last arrival of warp {warp % m.block_warps} of block "
                    f"{warp // m.block_warps} on {barrier}: it waits neither for that nor for the cluster after that",
                    [warp * WARP])


def _knows(m: Machine, rank: int, warp: int, time: int) -> bool:
    """Whether a thread of block `rank` is ordered after what the warp did at that time."""
    block = slice(rank * m.block_warps, (rank + 1) * m.block_warps)
    return bool((m.memory.clocks.known[block, warp] >= time).any())


def cluster_store(c: FunctionCompiler, i: LlvmInstruction, facts: Facts) -> Operation:
    address, rank, value, predicate = (c.slot(o) for o in i.operands)
    size = facts["size"]

    def run(m: Machine, r: Registers) -> None:
        threads = chosen(m, r, predicate)
        if not len(threads):
            return
        where, ranks, values = (m.spread(r[s])[threads].astype(np.uint64) for s in (address, rank, value))
        m.memory.shared_offsets(where, size, threads)  # it must be the thread's own
        for thread, to in _reach(m, threads, ranks.astype(np.int64)):
            _visit(m, thread, to)
        data = np.ascontiguousarray(values.astype(f"u{size}")).view(np.uint8).reshape(len(threads), size)
        m.memory.store_anywhere(peers(where, ranks), data, threads)

    return run


def _reach(m: Machine, threads: Array, ranks: Array) -> list[tuple[int, int]]:
    """Threads store to the memory of blocks `ranks`, which must be there: (one thread of a warp, rank)."""
    _, first = np.unique(np.stack([ranks, threads // WARP]), axis=1, return_index=True)
    pairs: list[tuple[int, int]] = np.stack([threads[first], ranks[first]], axis=1).tolist()
    for thread, rank in pairs:
        _require_block(m, rank, thread, "a store to")
        _require_started(m, rank, thread)
    return pairs


def _visit(m: Machine, thread: int, rank: int) -> None:
    """A thread's warp stores to a block, which must wait for it."""
    if rank == m.ranks[thread]:
        return
    m.of_block(_RemoteStores).latest[thread // WARP, rank] = int(m.memory.clocks.now[thread // WARP])


def _require_started(m: Machine, rank: int, thread: int) -> None:
    """The thread is of the block, or ordered after something that a thread of the block did."""
    if rank == m.ranks[thread]:
        return
    clocks, block = m.memory.clocks, slice(rank * m.block_warps, (rank + 1) * m.block_warps)
    if not (clocks.known[thread // WARP, block] >= clocks.started[block]).any():
        raise NotStarted(
            f"a store to block {rank} of the cluster, which may not have started: this thread has waited for nothing "
            "that comes from there", [thread])


class _RemoteStores(BlockState):
    """The latest store of each warp to each other block: at which time of its own."""

    def __init__(self, machine: Machine) -> None:
        self.latest: dict[tuple[int, int], int] = {}

    def check(self, machine: Machine) -> None:
        """Blocks have waited for everything that others store to them."""
        m = machine
        for (warp, rank), time in self.latest.items():
            if not _knows(m, rank, warp, time):
                raise LeftBlock(
                    f"block {rank} of the cluster may leave before the last store of warp {warp % m.block_warps} of "
                    f"block {warp // m.block_warps} to its shared memory: it does not wait for the cluster after that",
                    [warp * WARP])


@dataclass(eq=False)
class _Send:
    """Stores of a warp in flight. They land late, whole, and in any order."""

    offsets: Array
    data: Array
    barrier: Mbarrier
    told: Message  # what the warp tells by them
    thread: int
    seen: int  # the time of the mbarrier's engine that the warp knows

    def step(self, machine: Machine) -> bool:
        barrier = self.barrier
        if self.seen < barrier.landed:
            raise SimError(
                f"bytes count for the present phase of {barrier}, and might for the one before: who sent them has "
                "waited for nothing that comes after its end", [self.thread])
        land(machine.memory, self.offsets, self.data, barrier.engine, ordinary=True)
        barrier.last_copy = max(barrier.last_copy, barrier.phase)
        barrier.learned = merge_messages(barrier.learned, self.told)
        barrier.land(machine, self.data.size)
        return False


def cluster_send(c: FunctionCompiler, i: LlvmInstruction, facts: Facts) -> Operation:
    *slots, predicate = (c.slot(o) for o in i.operands)
    size = facts["size"]

    def run(m: Machine, r: Registers) -> None:
        threads = chosen(m, r, predicate)
        if not len(threads):
            return
        where, barriers, ranks, values = (m.spread(r[s])[threads].astype(np.uint64) for s in slots)
        for own in (where, barriers):
            m.memory.shared_offsets(own, size, threads)
        _reach(m, threads, ranks.astype(np.int64))
        offsets = begin_send(m.memory, peers(where, ranks), size, threads)
        data = np.ascontiguousarray(values.astype(f"u{size}")).view(np.uint8).reshape(len(threads), size)
        to, warps = peers(barriers, ranks), threads // WARP
        for warp in np.unique(warps):
            here = warps == warp
            first = int(threads[here][0])
            # As for arrivals from other blocks.
            told = m.memory.clocks.tell(np.array([warp]), whole(m, threads, first), far=False)
            for address in np.unique(to[here]).tolist():
                chosen_here = here & (to == address)
                barrier = mbarrier_at(m, address, first, anywhere=True)
                barrier.start_copy()
                seen = int(m.memory.clocks.known[warp, barrier.engine])
                m.agents.append(_Send(offsets[chosen_here], data[chosen_here], barrier, told, first, seen))

    return run


def tma_load_multicast(c: FunctionCompiler, i: LlvmInstruction, facts: Facts) -> Operation:
    *slots, mask, predicate = (c.slot(o) for o in i.operands)
    rank = facts["rank"]

    def run(m: Machine, r: Registers) -> None:
        masks = m.spread(r[mask])
        for thread, (to, source, barrier, *coordinates) in each_thread(m, r, [*slots, predicate]):
            for address in (to, barrier):
                m.memory.shared.find(address, thread)
            blocks = [bit for bit in range(16) if int(masks[thread]) >> bit & 1]
            if not blocks:
                raise SimError("a multicast copy to no block", [thread])
            place, start = find_map(m.memory, source, rank, thread), signed_all(coordinates)
            for block in blocks:
                _require_block(m, block, thread, "a multicast copy to")
                start_load(m, thread, peer(to, block), place, peer(barrier, block), start, anywhere=True)

    return run
