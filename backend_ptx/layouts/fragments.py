"""The fragments of matrix instructions: how a warp holds the operands of one, from its record."""

from __future__ import annotations

from tilewright.backend_ptx.instructions.table import instruction
from tilewright.backend_ptx.instructions.warpgroup import KINDS
from tilewright.backend_ptx.layouts.mma import Fragment


def fragment_of(record: str) -> Fragment:
    """The fragment of an instruction."""
    data = instruction(record).facts
    m, n, k = data["shape"]
    pack = {"f64": 1, "tf32": 1, "f16": 2, "bf16": 2, "e2m1": 8}.get(str(data["a"]), 4)
    return Fragment(m, n, k, pack)


def warpgroup_fragment(kind: str) -> Fragment:
    """How a warp holds A and the accumulator: as for the mma.sync of the same operands."""
    k = KINDS[kind].k
    return Fragment(16, 8, k, k // 8)
