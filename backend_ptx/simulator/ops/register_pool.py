"""Meaning of setmaxnreg: warps give registers to the block's pool, or wait until it has enough for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.backend_ptx.simulator.errors import SimError
from tilewright.backend_ptx.simulator.machine.code import Asked, Operation
from tilewright.backend_ptx.simulator.machine.compile import FunctionCompiler
from tilewright.backend_ptx.simulator.machine.state import WARP, BlockState, Machine, Registers, Wait
from tilewright.backend_ptx.simulator.text.ir import LlvmInstruction

Array = np.ndarray[Any, Any]
Facts = Mapping[str, Any]
# A kernel with launch bounds starts with an equal share for each thread of the blocks of which an SM must hold so many,
# in steps of 8 (ptxas does that).
_TOTAL, _MOST, _STEP = 65536, 255, 8


@dataclass
class _Pool:
    """Free registers of a block, and how many a thread of each warp (of the cluster) has."""

    free: int
    each: list[int]


class _Pools(BlockState):
    """The pool of each block of the cluster."""

    def __init__(self, machine: Machine) -> None:
        start = min(_MOST, _TOTAL // (machine.resident * machine.block_threads)) // _STEP * _STEP
        self.of_rank = [_Pool(0, [start] * machine.warps) for _ in range(machine.cluster)]


@dataclass
class _Enough:
    """Wait until the pool has registers for these warps."""

    pool: _Pool
    warps: list[int]
    count: int

    @property
    def needed(self) -> int:
        return sum(self.count - self.pool.each[w] for w in self.warps) * WARP

    @property
    def text(self) -> str:
        return f"{self.needed} registers, of which the block's pool has {self.pool.free}"

    def ready(self, machine: Machine) -> bool:
        if self.needed > self.pool.free:
            return False
        self.pool.free -= self.needed
        for warp in self.warps:
            self.pool.each[warp] = self.count
        return True


def set_registers(c: FunctionCompiler, i: LlvmInstruction, facts: Facts) -> Operation:
    count, more = facts["count"], facts["more"]

    def run(m: Machine, r: Registers) -> Asked:
        m.whole_warps("setmaxnreg")
        return m.part([(threads, _set(m, rank, threads)) for rank, threads in m.by_block(m.active)])

    def _set(m: Machine, rank: int, threads: Array) -> Wait | None:
        pool = m.of_block(_Pools).of_rank[rank]
        warps = np.unique(threads // WARP).tolist()
        for warp in warps:
            if (pool.each[warp] > count) if more else (pool.each[warp] < count):
                raise SimError(f"setmaxnreg to {count}, from {pool.each[warp]} registers", [warp * WARP])
        wait = _Enough(pool, warps, count)
        return None if wait.ready(m) else wait

    return run
