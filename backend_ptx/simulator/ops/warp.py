"""Meanings of the instructions that join threads: barriers, shuffles, votes, warp reductions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tilewright.backend_ptx.simulator.errors import Divergence, SimError
from tilewright.backend_ptx.simulator.machine.code import Asked, Operation
from tilewright.backend_ptx.simulator.machine.compile import FunctionCompiler
from tilewright.backend_ptx.simulator.machine.state import WARP, BlockState, Machine, Registers, Wait
from tilewright.backend_ptx.simulator.numbers.integers import signed, unsigned
from tilewright.backend_ptx.simulator.text.ir import LlvmInstruction
from tilewright.tileir.clocks import Message, merge_messages

Array = np.ndarray[Any, Any]
Facts = Mapping[str, Any]


@dataclass
class _CtaBarrier:
    """One of a block's sixteen barriers."""

    number: int
    arrived: int = 0
    generation: int = 0
    learned: Message | None = None  # what arriving warps tell
    waiting: list[Array] = field(default_factory=list)


@dataclass
class _CtaBarrierOpen:
    """Wait until the barrier starts its next generation."""

    barrier: _CtaBarrier
    generation: int
    text: str

    def ready(self, machine: Machine) -> bool:
        return self.barrier.generation != self.generation


class _CtaBarriers(BlockState):
    """Those of all blocks of the cluster."""

    def __init__(self, machine: Machine) -> None:
        self._barriers: dict[tuple[int, int], _CtaBarrier] = {}

    def find(self, rank: int, number: int) -> _CtaBarrier:
        """Barrier `number` of block `rank`."""
        return self._barriers.setdefault((rank, number), _CtaBarrier(number))


def _arrive(m: Machine, rank: int, number: int, expected: int, waits: bool, threads: Array) -> _CtaBarrierOpen | None:
    """Threads of whole warps of a block arrive; returns what to wait for, None when the barrier opens."""
    warps = np.unique(threads // WARP)
    clocks = m.memory.clocks
    state = m.of_block(_CtaBarriers).find(rank, number)
    if waits and len(threads) == expected and state.arrived == 0:
        clocks.join(warps)
        return None
    state.arrived += len(threads)
    if state.arrived > expected:
        raise SimError(f"barrier {number}: {state.arrived} threads arrive, {expected} are expected", threads)
    told = clocks.tell(warps)
    state.learned = merge_messages(state.learned, told)
    if waits:
        state.waiting.append(warps)
    generation = state.generation
    if state.arrived < expected:
        return _CtaBarrierOpen(state, generation, f"barrier {number}") if waits else None
    for group in state.waiting:
        clocks.acquire(group, state.learned)
    state.arrived, state.learned, state.waiting = 0, None, []
    state.generation += 1
    return None


def barrier(c: FunctionCompiler, i: LlvmInstruction, facts: Facts) -> Operation:
    def run(m: Machine, r: Registers) -> Asked:
        waits: list[tuple[Array, Wait | None]] = []
        for rank, threads in m.by_block(m.active):
            if m.exited[m.ranks == rank].any():
                raise Divergence("barrier 0: threads of the block have left the kernel", np.nonzero(m.exited)[0])
            m.whole_warps("barrier 0")
            waits.append((threads, _arrive(m, rank, 0, m.block_threads, True, threads)))
        return m.part(waits)

    return run


def barrier_named(c: FunctionCompiler, i: LlvmInstruction, facts: Facts) -> Operation:
    number, count = (c.slot(o) for o in i.operands)
    waits = facts["waits"]

    def run(m: Machine, r: Registers) -> Asked:
        m.whole_warps("named barrier")
        asked = np.stack([m.ranks[m.active], m.of_active(r[number]), m.of_active(r[count])], axis=1)
        parts: list[tuple[Array, Wait | None]] = []
        for rank, which, expected in np.unique(asked, axis=0).tolist():
            threads = m.active[(asked == (rank, which, expected)).all(axis=1)]
            if len(threads) % WARP:
                raise Divergence("named barrier: its number or count differs between lanes of a warp", threads)
            parts.append((threads, _arrive(m, rank, which, expected, waits, threads)))
        return m.part(parts)

    return run


def barrier_warp(c: FunctionCompiler, i: LlvmInstruction, facts: Facts) -> Operation:
    def run(m: Machine, r: Registers) -> None:
        m.memory.clocks.meet(m.whole_warps("bar.warp.sync"))

    return run


def fence(c: FunctionCompiler, i: LlvmInstruction, facts: Facts) -> Operation:
    """With the atomic accesses beside it, it releases and acquires as they would."""
    return lambda m, r: m.memory.synchronise("acq_rel", facts["scope"], m.active)


# ---- values between lanes ----


def _source_lane(mode: str, lane: Array, b: Array, clamp: Array) -> tuple[Array, Array]:
    """Which lane each lane reads, and whether that is inside the segment (else it keeps its own value)."""
    segment = clamp >> 8 & 31
    limit = clamp & 31
    low = lane & segment
    high = low | (limit & ~segment)
    if mode == "up":
        source = lane - b
        return source, source >= (low | (limit & ~segment))
    if mode == "down":
        source = lane + b
    elif mode == "bfly":
        source = lane ^ b
    else:
        source = low | (b & ~segment & 31)
    return source, source <= high


def _exchange(m: Machine, mode: str, value: Array, distance: Array, clamp: Array) -> Array:
    m.whole_warps(f"shfl.{mode}")
    lane = m.all_threads % WARP
    b = m.spread(distance).astype(np.int64) & 31
    source, inside = _source_lane(mode, lane, b, m.spread(clamp).astype(np.int64))
    chosen = m.all_threads - lane + np.where(inside, source, lane)
    return np.asarray(m.spread(value)[np.minimum(chosen, m.threads - 1)])


def shuffle(c: FunctionCompiler, i: LlvmInstruction, facts: Facts) -> Operation:
    value, distance = (c.slot(o) for o in i.operands)
    mode, target = facts["mode"], c.result(i)
    clamp = np.array([0 if mode == "up" else 31])

    def run(m: Machine, r: Registers) -> None:
        m.put(r, target, _exchange(m, mode, r[value], r[distance], clamp))

    return run


def shuffle_intrinsic(c: FunctionCompiler, i: LlvmInstruction, mode: str) -> Operation:
    """llvm.nvvm.shfl.sync.*(mask, value, lane, clamp)."""
    _, value, distance, clamp = (c.slot(o) for o in i.operands)
    target = c.result(i)

    def run(m: Machine, r: Registers) -> None:
        m.put(r, target, _exchange(m, mode, r[value], r[distance], r[clamp]))

    return run


def by_warp(m: Machine, value: Array) -> Array:
    """[warps, 32] of a value per thread (blocks of less than a warp repeat lane 0)."""
    value = m.spread(value)
    missing = m.warps * WARP - m.threads
    if missing:
        value = np.concatenate([value, np.repeat(value[:1], missing, axis=0)])
    return value.reshape(m.warps, WARP, *value.shape[1:])


def from_warps(m: Machine, value: Array) -> Array:
    """[warps, 32, ...] back to one row per thread."""
    return value.reshape(m.warps * WARP, *value.shape[2:])[: m.threads]


_REDUCE: dict[str, Callable[..., Array]] = {
    "add": np.add.reduce, "min": np.minimum.reduce, "max": np.maximum.reduce,
}


def warp_reduce(c: FunctionCompiler, i: LlvmInstruction, facts: Facts) -> Operation:
    slot, target, reduce = c.slot(i.operands[0]), c.result(i), _REDUCE[facts["op"]]
    is_signed = facts["kind"] == "s32"

    def run(m: Machine, r: Registers) -> None:
        m.whole_warps(f"redux.{facts['op']}")
        lanes = by_warp(m, r[slot])
        found = reduce(signed(lanes) if is_signed else lanes, axis=1)
        found = unsigned(found.astype(np.int32)) if is_signed else found.astype(np.uint32)
        m.put(r, target, np.repeat(found, WARP)[: m.threads])

    return run
