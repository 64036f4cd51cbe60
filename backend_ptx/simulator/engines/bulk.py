"""Meanings of bulk tensor copies (TMA): they land late, whole, in any order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tilewright.backend_ptx.simulator.engines.mbarrier import Mbarrier, mbarrier_at, require_visible
from tilewright.backend_ptx.simulator.errors import PendingCopy, SimError
from tilewright.backend_ptx.simulator.machine.code import Operation
from tilewright.backend_ptx.simulator.machine.compile import FunctionCompiler
from tilewright.backend_ptx.simulator.machine.state import BlockState, Machine, Registers
from tilewright.backend_ptx.simulator.memory.in_flight import begin_reads, begin_write, end_reads, land
from tilewright.backend_ptx.simulator.memory.tensor_map import PlacedMap, find_map, placed_map
from tilewright.backend_ptx.simulator.numbers.integers import signed
from tilewright.backend_ptx.simulator.text.ir import LlvmInstruction

Array = np.ndarray[Any, Any]
Facts = Mapping[str, Any]


@dataclass(eq=False)
class _Load:
    """A copy to shared memory in flight. `data` is what global memory held when it started."""

    map: PlacedMap
    start: list[int]
    thread: int
    offsets: Array
    data: Array
    barrier: Mbarrier

    def step(self, machine: Machine) -> bool:
        now = self.map.read(machine.memory, self.start, self.thread)
        if not np.array_equal(now, self.data):
            raise PendingCopy(f"global memory of {self.map.name} changes before its copy has landed", [self.thread])
        land(machine.memory, self.offsets, self.data, self.barrier.engine)
        self.barrier.land(machine, self.map.bytes)
        return False


@dataclass(eq=False)
class _Store:
    """A copy from shared memory in flight. Its reads last until the thread waits for them."""

    map: PlacedMap
    start: list[int]
    thread: int
    offsets: Array
    data: Array
    landed: bool = False
    reading: bool = True

    def step(self, machine: Machine) -> bool:
        if not self.landed:
            self.map.write(machine.memory, self.start, self.data, self.thread)
            self.landed = True
        return False

    def stop_reading(self, machine: Machine) -> None:
        if self.reading:
            end_reads(machine.memory, self.offsets, self.thread)
            self.reading = False


@dataclass
class _Stores:
    """The stores of one thread: those not committed yet, then groups, oldest first."""

    open: list[_Store] = field(default_factory=list)
    groups: list[list[_Store]] = field(default_factory=list)


class _AllStores(BlockState):
    """Those of each thread."""

    def __init__(self, machine: Machine) -> None:
        self.of_thread: dict[int, _Stores] = {}

    def check(self, machine: Machine) -> None:
        for thread, stores in self.of_thread.items():
            if any(s.reading for group in (stores.open, *stores.groups) for s in group):
                raise PendingCopy("the kernel ends while a bulk store may be reading shared memory", [thread])


def _stores(m: Machine) -> dict[int, _Stores]:
    return m.of_block(_AllStores).of_thread


def each_thread(m: Machine, r: Registers, slots: list[int]) -> list[tuple[int, list[int]]]:
    """(thread, operands) of the active threads whose predicate, the last operand, holds."""
    *others, predicate = slots
    threads = m.active[m.of_active(r[predicate])].tolist()
    columns = [m.spread(r[s]) for s in others]
    return [(t, [int(c[t]) for c in columns]) for t in threads]


def signed_all(coordinates: list[int]) -> list[int]:
    return [int(x) for x in signed(np.array(coordinates, np.uint32))]


def tma_load(c: FunctionCompiler, i: LlvmInstruction, facts: Facts) -> Operation:
    slots, rank = [c.slot(o) for o in i.operands], facts["rank"]

    def run(m: Machine, r: Registers) -> None:
        for thread, (to, source, barrier, *coordinates) in each_thread(m, r, slots):
            start_load(m, thread, to, find_map(m.memory, source, rank, thread), barrier, signed_all(coordinates))

    return run


def start_load(
    m: Machine, thread: int, to: int, source: PlacedMap, address: int, start: list[int], *, anywhere: bool = False
) -> None:
    """A copy to a shared address starts, which will arrive on the mbarrier at `address`.

    Both are in the thread's block, or `anywhere` in the cluster.
    """
    barrier = mbarrier_at(m, address, thread, anywhere=anywhere)
    require_visible(barrier, thread)
    data = source.read(m.memory, start, thread)
    offsets = begin_write(m.memory, source.shared_chunks(to), thread, "a bulk copy", anywhere=anywhere)
    barrier.start_copy()
    m.agents.append(_Load(source, start, thread, offsets, data, barrier))


def tma_store(c: FunctionCompiler, i: LlvmInstruction, facts: Facts) -> Operation:
    slots, rank = [c.slot(o) for o in i.operands], facts["rank"]

    def run(m: Machine, r: Registers) -> None:
        for thread, (target, source, *coordinates) in each_thread(m, r, slots):
            to = find_map(m.memory, target, rank, thread)
            offsets, data = begin_reads(m.memory, to.shared_chunks(source), thread, "a bulk store")
            store = _Store(to, signed_all(coordinates), thread, offsets, data)
            _stores(m).setdefault(thread, _Stores()).open.append(store)
            m.agents.append(store)

    return run


def tma_commit(c: FunctionCompiler, i: LlvmInstruction, facts: Facts) -> Operation:
    def run(m: Machine, r: Registers) -> None:
        active = set(m.active.tolist())
        for thread, stores in _stores(m).items():
            if thread in active:
                stores.groups.append(stores.open)
                stores.open = []

    return run


def tma_wait(c: FunctionCompiler, i: LlvmInstruction, facts: Facts) -> Operation:
    pending, read_only = facts["pending"], facts["read"]

    def run(m: Machine, r: Registers) -> None:
        active = set(m.active.tolist())
        for thread, stores in _stores(m).items():
            if thread not in active:
                continue
            done = stores.groups[: max(0, len(stores.groups) - pending)]
            for store in (s for group in done for s in group):
                store.stop_reading(m)
                if not read_only:
                    store.step(m)
            if not read_only:
                del stores.groups[: len(done)]

    return run


def acquire_map(c: FunctionCompiler, i: LlvmInstruction, facts: Facts) -> Operation:
    slots = [c.slot(o) for o in i.operands]

    def run(m: Machine, r: Registers) -> None:
        for thread, [address] in each_thread(m, r, slots):
            acquired = placed_map(m.memory, address, thread).acquired
            if acquired is None:
                raise SimError("the fence of a tensor map that is a parameter", [thread])
            acquired.add(thread)

    return run


def prefetch_map(c: FunctionCompiler, i: LlvmInstruction, facts: Facts) -> Operation:
    slot = c.slot(i.operands[0])

    def run(m: Machine, r: Registers) -> None:
        for address in np.unique(m.of_active(r[slot])).tolist():
            find_map(m.memory, address, 0, int(m.active[0]))

    return run
