"""Meaning of setmaxnreg: warps give registers to the block's pool, or wait until it has enough for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.backend_ptx.simulator.code import Registers, Wait
from tilewright.backend_ptx.simulator.compile import FunctionCompiler, Operation
from tilewright.backend_ptx.simulator.errors import SimError
from tilewright.backend_ptx.simulator.ir import Instruction
from tilewright.backend_ptx.simulator.machine import WARP, Machine

Array = np.ndarray[Any, Any]
Facts = Mapping[str, Any]
# A kernel with launch bounds starts with an equal share for each thread, in steps of 8 (ptxas does that).
_TOTAL, _MOST, _STEP = 65536, 255, 8


@dataclass
class _Pool:
    """Free registers of a block, and how many a thread of each warp (of the cluster) has."""

    free: int
    each: list[int]


def _pool(m: Machine, rank: int) -> _Pool:
    pools: dict[int, _Pool] = m.block_state.setdefault("registers", {})
    if rank not in pools:
        start = min(_MOST, _TOTAL // m.block_threads) // _STEP * _STEP
        pools[rank] = _Pool(0, [start] * m.warps)
    return pools[rank]


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


def set_registers(c: FunctionCompiler, i: Instruction, facts: Facts) -> Operation:
    count, more = facts["count"], facts["more"]

    def run(m: Machine, r: Registers) -> Any:
        m.whole_warps("setmaxnreg")
        return m.part([(threads, _set(m, rank, threads)) for rank, threads in m.by_block(m.active)])

    def _set(m: Machine, rank: int, threads: Array) -> Wait | None:
        pool = _pool(m, rank)
        warps = np.unique(threads // WARP).tolist()
        for warp in warps:
            if (pool.each[warp] > count) if more else (pool.each[warp] < count):
                raise SimError(f"setmaxnreg to {count}, from {pool.each[warp]} registers", [warp * WARP])
        wait = _Enough(pool, warps, count)
        return None if wait.ready(m) else wait

    return run
