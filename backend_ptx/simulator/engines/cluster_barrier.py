"""Meanings of the barrier of a cluster, at once and in halves: who has arrived, and what those who wait learn.

What a thread did before it arrives is ordered before what others do after their wait; what it does between its own
arrival and its own wait is ordered for nobody (PTX ISA, "barrier.cluster"). An arrival without release semantics tells
that the thread has started, and of mbarriers that fence.mbarrier_init has covered, but of nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.backend_ptx.simulator.engines.mbarrier import Mbarrier, made_by
from tilewright.backend_ptx.simulator.errors import SimError
from tilewright.backend_ptx.simulator.machine.code import Asked, Operation
from tilewright.backend_ptx.simulator.machine.compile import FunctionCompiler
from tilewright.backend_ptx.simulator.machine.state import WARP, BlockState, Machine, Registers, Split, Wait
from tilewright.backend_ptx.simulator.text.ir import LlvmInstruction
from tilewright.tileir.clocks import Message, merge_messages

Array = np.ndarray[Any, Any]
Facts = Mapping[str, Any]
_NEVER = -1


class _ClusterBarrier(BlockState):
    """Opens when every thread has arrived or left. Nobody arrives for the next generation before all have waited."""

    def __init__(self, machine: Machine) -> None:
        self.exited = machine.exited
        self.arrived = np.zeros(machine.threads, bool)  # threads, in the present generation
        self.stay = np.zeros(machine.threads, bool)  # those of them that do nothing until it opens
        # Per thread: the generation in which it has arrived and for which it has not waited.
        self.owes = np.full(machine.threads, _NEVER)
        self.generation = 0
        self.learned: Message | None = None  # what those who have arrived tell
        self.told: Message | None = None  # the same of the last generation
        self.made: list[Mbarrier] = []  # mbarriers that those who have arrived have published
        self.known: list[Mbarrier] = []  # the same of the last generation

    def missing(self) -> int:
        return int((~(self.arrived | self.exited)).sum())

    def arrive(self, m: Machine, stay: bool, releases: bool = True) -> None:
        """The active threads arrive."""
        twice = m.active[self.owes[m.active] != _NEVER]
        if len(twice):
            raise SimError("arrives at the barrier of the cluster twice, with no wait for it between", twice)
        self.arrived[m.active] = True
        self.stay[m.active] = stay
        self.owes[m.active] = self.generation
        self.made += [barrier for barrier in made_by(m) if barrier.published]
        if releases:
            self._learn(m)
        else:
            self.learned = merge_messages(self.learned, m.memory.clocks.presence(m.active_warps()))

    def _learn(self, m: Machine) -> None:
        """What the active threads have done, by warps: all of it where all lanes are here, or stay where they are."""
        warps = m.active_warps()
        here = self.stay.copy()
        here[m.active] = True
        absent = m.all_threads[~(here | self.exited)]
        whole = ~np.isin(warps, absent // WARP)
        for which, all_lanes in ((warps[whole], True), (warps[~whole], False)):
            if len(which):
                self.learned = merge_messages(self.learned, m.memory.clocks.tell(which, all_lanes))

    def open(self) -> bool:
        """Start the next generation if nobody is missing."""
        if self.missing():
            return False
        self.told, self.learned = self.learned, None
        self.known, self.made = self.made, []
        self.arrived[:] = self.stay[:] = False
        self.generation += 1
        return True

    def wait(self, m: Machine) -> Wait | Split | None:
        """The active threads wait."""
        early = m.active[self.owes[m.active] == _NEVER]
        if len(early):
            raise SimError("waits for the barrier of the cluster without having arrived at it", early)
        owed = self.owes[m.active]
        self.owes[m.active] = _NEVER
        parts: list[tuple[Array, Wait | None]] = []
        for generation in np.unique(owed).tolist():
            threads = m.active[owed == generation]
            wait = _ClusterBarrierOpen(self, generation, np.unique(threads // WARP))
            parts.append((threads, None if wait.ready(m) else wait))
        return m.part(parts)


@dataclass
class _ClusterBarrierOpen:
    """Wait until the barrier has opened, which may be because the last missing threads leave."""

    barrier: _ClusterBarrier
    generation: int
    warps: Array

    @property
    def text(self) -> str:
        return f"the barrier of the cluster, where {self.barrier.missing()} threads have not arrived"

    def ready(self, machine: Machine) -> bool:
        if self.barrier.generation == self.generation and not self.barrier.open():
            return False
        # Nobody has passed the next generation before these arrive for it: `told` is still that of this one.
        for made in self.barrier.known:
            made.heard.update(self.warps.tolist())
        if self.barrier.told is not None:
            machine.memory.clocks.acquire(self.warps, self.barrier.told)
        return True


def _barrier(m: Machine) -> _ClusterBarrier:
    return m.of_block(_ClusterBarrier)


def cluster_arrive(c: FunctionCompiler, i: LlvmInstruction, facts: Facts) -> Operation:
    releases = facts.get("releases", True)
    return lambda m, r: _barrier(m).arrive(m, False, releases)


def cluster_wait(c: FunctionCompiler, i: LlvmInstruction, facts: Facts) -> Operation:
    return lambda m, r: _barrier(m).wait(m)


def cluster_sync(c: FunctionCompiler, i: LlvmInstruction, facts: Facts) -> Operation:
    def run(m: Machine, r: Registers) -> Asked:
        _barrier(m).arrive(m, stay=True)
        return _barrier(m).wait(m)

    return run
