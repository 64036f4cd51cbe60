"""Meanings of the instructions of clusters: their barrier, arrivals on another block's mbarrier, multicast copies.

A block's shared memory is gone when its last thread leaves. So whatever reaches it from other blocks must come, for
certain, while one of its threads is there: that thread must have waited for it, or for something after it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sim.bulk import each_thread, signed_all, start_load
from sim.code import Registers
from sim.compile import FunctionCompiler, Operation
from sim.errors import LeftBlock, SimError
from sim.ir import Instruction
from sim.machine import WARP, Machine
from sim.mbarrier import Mbarrier, chosen, mbarrier_at, mbarriers, whole
from sim.shared import peer
from sim.tensormap import find_map

Array = np.ndarray[Any, Any]
Facts = Mapping[str, Any]


# ---- the barrier ----


@dataclass
class _Barrier:
    """The barrier of a cluster: opens when every thread has arrived or left."""

    arrived: Array
    generation: int = 0

    def open(self, m: Machine) -> bool:
        """Start the next generation if nobody is missing."""
        if not (self.arrived | m.exited).all():
            return False
        # Threads that have left are ordered before nothing, unless others of their warp are here.
        m.memory.clocks.join(np.unique(np.nonzero(self.arrived)[0] // WARP))
        self.arrived[:] = False
        self.generation += 1
        return True


@dataclass
class _Passed:
    """Wait until the barrier starts its next generation, which may be because the last missing threads leave."""

    barrier: _Barrier
    generation: int

    @property
    def text(self) -> str:
        return f"the barrier of the cluster, where {int((~self.barrier.arrived).sum())} threads have not arrived"

    def ready(self, machine: Machine) -> bool:
        return self.barrier.generation != self.generation or self.barrier.open(machine)


def cluster_sync(c: FunctionCompiler, i: Instruction, facts: Facts) -> Operation:
    def run(m: Machine, r: Registers) -> _Passed | None:
        state: _Barrier = m.block_state.setdefault("cluster barrier", _Barrier(np.zeros(m.threads, bool)))
        state.arrived[m.active] = True
        generation = state.generation
        return None if state.open(m) else _Passed(state, generation)

    return run


# ---- what reaches other blocks ----


def _require_block(m: Machine, rank: int, thread: int, what: str) -> None:
    """The block exists and has not left."""
    if rank >= m.cluster:
        raise SimError(f"{what} block {rank} of a cluster of {m.cluster} blocks", [thread])
    if m.exited[m.ranks == rank].all():
        raise LeftBlock(f"{what} block {rank} of the cluster, which has left the kernel", [thread])


def mbarrier_arrive_remote(c: FunctionCompiler, i: Instruction, facts: Facts) -> Operation:
    address, rank, predicate = (c.slot(o) for o in i.operands)

    def run(m: Machine, r: Registers) -> None:
        threads = chosen(m, r, predicate)
        where, ranks = m.spread(r[address]), m.spread(r[rank])
        for thread in threads.tolist():
            _arrive(m, thread, int(where[thread]), int(ranks[thread]), whole(m, threads, thread))

    return run


def _arrive(m: Machine, thread: int, address: int, rank: int, all_lanes: bool) -> None:
    m.memory.shared.find(address, thread)  # it must be the thread's own
    _require_block(m, rank, thread, "an arrival in")
    barrier = mbarrier_at(m, peer(address, rank), thread, anywhere=True)
    warp, own = thread // WARP, bool(rank == m.ranks[thread])
    if not own:
        barrier.visits[warp] = (int(m.memory.clocks.now[warp]), barrier.phase)
        if _check_stays not in m.final_checks:
            m.final_checks.append(_check_stays)
    # The instruction names no scope, so what it releases is ordered for its own block; shared memory is the exception
    # on which every ring relies: reads are over when a thread goes on.
    barrier.arrive(m, warp, all_lanes, thread, far=own)


def _check_stays(m: Machine) -> None:
    """Blocks have waited for everything that came from other blocks."""
    for barrier in mbarriers(m).values():
        for warp, (time, phase) in barrier.visits.items():
            if phase > barrier.last_seen and not _knows(m, barrier, warp, time):
                raise LeftBlock(
                    f"a block may leave before the last arrival of warp {warp % m.block_warps} of block "
                    f"{warp // m.block_warps} on {barrier}: it waits neither for that nor for the cluster after that",
                    [warp * WARP])


def _knows(m: Machine, barrier: Mbarrier, warp: int, time: int) -> bool:
    """Whether a thread of the mbarrier's block is ordered after what the warp did at that time."""
    rank = barrier.maker // m.block_warps
    block = slice(rank * m.block_warps, (rank + 1) * m.block_warps)
    return bool((m.memory.clocks.known[block, warp] >= time).any())


def tma_load_multicast(c: FunctionCompiler, i: Instruction, facts: Facts) -> Operation:
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
