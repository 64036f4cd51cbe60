"""The runs of MMAs with which two warpgroups alternate, which rings and turns ask for."""

from __future__ import annotations

from collections.abc import Collection
from itertools import groupby

from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.layouts.warpgroup import WARPS as GROUP
from tilewright.backend_ptx.ops.matmul import Product, left_outstanding, starts_ahead
from tilewright.backend_ptx.resources.pipes import TENSOR, bounds
from tilewright.tileir.core import Op
from tilewright.tileir.engines import Issuer
from tilewright.tileir.ops.control import For

# Cycles of the tensor cores in an iteration from which on turns pay, where nothing takes longer. On an H100 float8_e4m3
# 8192^3 with b as [K, N] and sums in float32, without and with turns: by 256x128x256 1051 and 982 us, by 128x128x256
# 1045 and 992, by 128x128x128 1105 and 1127, by 64x256x256, which TMA binds, 1345 and 1396.
LONG_RUN = 1024
Run = tuple[Op, Op]
"""The first and the last MMA of a run in the loop body."""


def waited_runs(c: Compilation, loop: Op) -> list[Run]:
    """The runs of MMAs with which two warpgroups alternate: of an innermost loop that has several in each iteration, or
    waits for a part of its only one, or computes with what a long one leaves, waits for them there or in the next
    iteration, and has no other point where the warpgroups synchronise. None of any other loop."""
    inside = list(loop.loop.walk()) if isinstance(loop, For) else []
    if c.plan.teams > 1 or c.plan.warps != 2 * GROUP or not inside or any(op.repeats for op in inside):
        return []
    assert isinstance(loop, For)
    mmas = {op for op in inside if isinstance(op, Product) and op.unit.engine.issuer is Issuer.WARPGROUP}
    waits = {op: left for op in inside if (left := left_outstanding(op)) is not None}
    ops = loop.loop.ops
    waited = {v for op in ops if op in waits for v in op.operands}
    waited |= {v for v, param in zip(ops[-1].operands, loop.loop.params[1:], strict=True) if param in waited}
    if any(op in mmas and op.result not in waited for op in ops):
        return []
    # Any other collective op synchronises the whole CTA.
    if any(op.collective and op not in mmas and op not in waits for op in inside):
        return []
    runs = _runs(ops, mmas, waits)
    return runs if len(runs) > 1 or starts_ahead(ops) or _is_long(c, loop, waits) else []


def _is_long(c: Compilation, loop: For, waits: Collection[Op]) -> bool:
    """Whether a loop computes with what its long run leaves."""
    used = any(v.op in waits for op in loop.loop.ops if not isinstance(op, Product) for v in op.operands)
    return used and any(
        b.loop is loop and b.cycles.get(TENSOR) == b.interval >= LONG_RUN for b in bounds(c.function, c.target))


def _runs(ops: list[Op], mmas: Collection[Op], waits: Collection[Op]) -> list[Run]:
    """The runs of MMAs without a wait between them."""
    marked = groupby((op for op in ops if op in mmas or op in waits), key=lambda op: op in mmas)
    found = [list(run) for multiplies, run in marked if multiplies]
    return [(run[0], run[-1]) for run in found]
