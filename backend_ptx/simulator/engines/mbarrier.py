"""Meanings of mbarriers: phases that complete when all threads and all bytes have arrived."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tilewright.backend_ptx.simulator.errors import PendingCopy, SimError, Unfenced
from tilewright.backend_ptx.simulator.machine.code import Asked, Operation
from tilewright.backend_ptx.simulator.machine.compile import FunctionCompiler
from tilewright.backend_ptx.simulator.machine.state import WARP, BlockState, Machine, Registers, Wait
from tilewright.backend_ptx.simulator.text.ir import LlvmInstruction
from tilewright.tileir.clocks import Message, merge_messages, time_told

Array = np.ndarray[Any, Any]
Facts = Mapping[str, Any]
SIZE = 8
_MAX_COUNT, _MAX_BYTES = (1 << 20) - 1, (1 << 20) - 1


@dataclass
class Mbarrier:
    """One mbarrier. `missing` arrivals and `bytes` are still to come in the present phase."""

    offset: int  # in the memory of all blocks
    where: str
    count: int
    engine: int  # the clock of the copies that arrive here
    maker: int  # warp that initialised it
    visible: bool = False  # to bulk copies
    phase: int = 0
    missing: int = 0
    bytes: int = 0
    learned: Message | None = None  # what those who have arrived tell
    told: Message | None = None  # the same of the last complete phase
    flying: int = 0  # copies that have not landed
    landed: int = 0  # time of the engine when the last complete phase's bytes had landed
    last_copy: int = -1  # latest phase in which a copy was started
    last_seen: int = -1  # latest phase for which a thread has waited
    published: bool = False  # to the cluster: whoever waits for an arrival of its maker at the cluster's barrier ...
    heard: set[int] = field(default_factory=set)  # ... and these warps have

    def __str__(self) -> str:
        return (f"the mbarrier at {self.where} (phase {self.phase}: {self.missing} of {self.count} "
                f"arrivals and {self.bytes} bytes are missing)")

    def arrive(self, machine: Machine, warp: int, whole: bool, thread: int, far: bool = True) -> None:
        """A thread arrives; `far` as for Clocks.tell."""
        if self.missing == 0:
            raise SimError(f"an arrival too many on {self}", [thread])
        self.learned = merge_messages(self.learned, machine.memory.clocks.tell(np.array([warp]), whole, far))
        self.missing -= 1
        self._check_complete()

    def announce(self, count: int, thread: int) -> None:
        """Bytes that copies will bring in this phase."""
        self.bytes += count
        if abs(self.bytes) > _MAX_BYTES:
            raise SimError(f"more than {_MAX_BYTES} bytes in one phase of {self}", [thread])

    def start_copy(self) -> None:
        """A copy starts that will arrive here."""
        self.flying += 1
        self.last_copy = self.phase

    def land(self, machine: Machine, count: int) -> None:
        """A copy has brought bytes."""
        self.flying -= 1
        self.learned = merge_messages(self.learned, machine.memory.clocks.tell(np.array([self.engine])))
        self.bytes -= count
        self._check_complete()

    def _check_complete(self) -> None:
        if self.missing or self.bytes:
            return
        landed = time_told(self.learned, self.engine)
        self.landed = self.landed if landed is None else landed
        self.told, self.learned = self.learned, None
        self.phase += 1
        self.missing = self.count

    def passed(self, parity: int) -> bool:
        """Whether the phase of this parity is complete (before the first phase: that of parity 1)."""
        return self.phase & 1 != parity

    def pass_on(self, machine: Machine, warps: Array) -> None:
        """Warps have seen the last phase complete."""
        self.last_seen = max(self.last_seen, self.phase - 1)
        if self.told is not None:
            machine.memory.clocks.acquire(warps, self.told)


class _Mbarriers(BlockState):
    """Those of the block or cluster, by offset."""

    def __init__(self, machine: Machine) -> None:
        self.at: dict[int, Mbarrier] = {}

    def check(self, machine: Machine) -> None:
        for barrier in self.at.values():
            if barrier.last_copy > barrier.last_seen:
                raise PendingCopy(f"the kernel ends while bulk copies may be in flight: nothing waited for {barrier}")
            if barrier.flying or barrier.bytes:
                raise SimError(f"the bytes that copies brought are not those that were announced, on {barrier}")


def mbarriers(m: Machine) -> dict[int, Mbarrier]:
    """Those of the block or cluster, by offset."""
    return m.of_block(_Mbarriers).at


def mbarrier_at(m: Machine, address: int, thread: int, *, anywhere: bool = False) -> Mbarrier:
    """The mbarrier at a shared address, for use by a thread; its initialisation must come before.

    It must be in the thread's block, or `anywhere` in the cluster.
    """
    shared = m.memory.shared
    offset = shared.find(address, thread, anywhere=anywhere)
    found = mbarriers(m).get(offset)
    if found is None:
        raise SimError(f"there is no mbarrier at {shared.at(offset)}", [thread])
    history = shared.history
    if history is not None and thread // WARP not in found.heard:
        history.on_read(m.memory.clocks, np.array([thread]), np.array([found.offset]), SIZE, m.memory.block)
    return found


def mbarrier_init(c: FunctionCompiler, i: LlvmInstruction, facts: Facts) -> Operation:
    address, count = (c.slot(o) for o in i.operands)

    def run(m: Machine, r: Registers) -> None:
        given = zip(m.active, m.of_active(r[address]), m.of_active(r[count]), strict=True)
        for thread, where, arrivals in given:
            _init(m, int(thread), int(where), int(arrivals))

    return run


def _init(m: Machine, thread: int, address: int, count: int) -> None:
    if not 1 <= count <= _MAX_COUNT:
        raise SimError(f"mbarrier.init with {count} arrivals", [thread])
    memory, shared = m.memory, m.memory.shared
    one, who = np.array([address], np.uint64), np.array([thread])
    offset = int(memory.shared_offsets(one, SIZE, who)[0])
    if offset in mbarriers(m):
        raise SimError(f"mbarrier.init of {mbarriers(m)[offset]}, which is one already", [thread])
    memory.store_shared(one, np.zeros((1, SIZE), np.uint8), who)
    if shared.guarded is None:
        shared.guarded = np.zeros(len(shared.data), bool)
    shared.guarded[offset : offset + SIZE] = True
    mbarriers(m)[offset] = Mbarrier(
        offset, shared.at(offset), count, _engine(m, len(mbarriers(m))), thread // WARP, missing=count
    )


def _engine(m: Machine, number: int) -> int:
    """The clock of the block's mbarrier `number`; blocks use the same ones."""
    clocks = m.memory.clocks
    if m.warps + number < len(clocks.now):
        return m.warps + number
    return clocks.add()


def fence_mbarrier_init(c: FunctionCompiler, i: LlvmInstruction, facts: Facts) -> Operation:
    def run(m: Machine, r: Registers) -> None:
        _make_visible(m)
        for barrier in made_by(m):
            barrier.published = True

    return run


def made_by(m: Machine) -> list[Mbarrier]:
    """The mbarriers that the active warps have initialised."""
    warps = set(m.active_warps().tolist())
    return [barrier for barrier in mbarriers(m).values() if barrier.maker in warps]


def _make_visible(m: Machine) -> None:
    for barrier in made_by(m):
        barrier.visible = True


def fence_proxy(c: FunctionCompiler, i: LlvmInstruction, facts: Facts) -> Operation:
    def run(m: Machine, r: Registers) -> None:
        m.memory.clocks.fence(m.active_warps())
        _make_visible(m)

    return run


def chosen(m: Machine, r: Registers, predicate: int) -> Array:
    """The active threads for which the predicate holds."""
    chosen: Array = m.active[m.of_active(r[predicate])]
    return chosen


def mbarrier_arrive(c: FunctionCompiler, i: LlvmInstruction, facts: Facts) -> Operation:
    address, predicate = (c.slot(o) for o in i.operands)

    def run(m: Machine, r: Registers) -> None:
        where = m.spread(r[address])
        for thread, all_lanes in arriving(m, r, predicate):
            mbarrier_at(m, int(where[thread]), thread).arrive(m, thread // WARP, all_lanes, thread)

    return run


def whole(m: Machine, threads: Array, thread: int) -> bool:
    """Whether all lanes of the thread's warp are among `threads`."""
    lanes = min(WARP, m.threads - thread // WARP * WARP)
    return int((threads // WARP == thread // WARP).sum()) == lanes


def arriving(m: Machine, r: Registers, predicate: int) -> Iterator[tuple[int, bool]]:
    """The active threads for which the predicate holds; for each, whether all lanes of its warp are among them."""
    threads = chosen(m, r, predicate)
    for thread in threads.tolist():
        yield thread, whole(m, threads, thread)


def mbarrier_expect(c: FunctionCompiler, i: LlvmInstruction, facts: Facts) -> Operation:
    address, count, predicate = (c.slot(o) for o in i.operands)

    def run(m: Machine, r: Registers) -> None:
        where, counts = m.spread(r[address]), m.spread(r[count])
        for thread, all_lanes in arriving(m, r, predicate):
            barrier = mbarrier_at(m, int(where[thread]), thread)
            barrier.announce(int(counts[thread]), thread)
            barrier.arrive(m, thread // WARP, all_lanes, thread)

    return run


@dataclass
class _PhaseComplete:
    """Wait for a phase of an mbarrier, on behalf of some warps."""

    barrier: Mbarrier
    parity: int
    warps: Array

    @property
    def text(self) -> str:
        return f"parity {self.parity} of {self.barrier}"

    def ready(self, machine: Machine) -> bool:
        if not self.barrier.passed(self.parity):
            return False
        self.barrier.pass_on(machine, self.warps)
        return True


def mbarrier_wait(c: FunctionCompiler, i: LlvmInstruction, facts: Facts) -> Operation:
    address, parity = (c.slot(o) for o in i.operands)

    def run(m: Machine, r: Registers) -> Asked:
        pairs = np.stack([m.of_active(r[address]), m.of_active(r[parity])], axis=1)
        parts: list[tuple[Array, Wait | None]] = []
        for where, which in np.unique(pairs, axis=0).tolist():
            threads = m.active[(pairs == (where, which)).all(axis=1)]
            if which not in (0, 1):
                raise SimError(f"mbarrier.try_wait for parity {which}", threads)
            wait = _PhaseComplete(mbarrier_at(m, where, int(threads[0])), which, np.unique(threads // WARP))
            parts.append((threads, None if wait.ready(m) else wait))
        return m.part(parts)

    return run


def require_visible(barrier: Mbarrier, thread: int) -> None:
    """A bulk copy is about to use it."""
    if not barrier.visible:
        raise Unfenced(f"a bulk copy uses {barrier} with no fence.mbarrier_init after its initialisation", [thread])
