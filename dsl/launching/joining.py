"""Which blocks of a grid launches of many join to one (`tileir/passes/join_blocks.py`): those whose tiles of products
are so small that their operands take longer from L2 than the tensor cores do.

Each block of attention with 64 queries loads all keys and values, and has one warpgroup, whose exponentials and MMAs do
not overlap. On an H200, of 4x16 heads of 4096 tokens, with tiles of 64 and of 128 queries: 1510 and 956 us (128
channels, 64 keys), 1343 and 879 (128 keys), 873 and 658 (64 channels, 64 keys); in clusters of two CTAs that share keys
and values by multicast 1489. A product of 4096^3 takes 358 us by 64x64x64, 209 by 64x128x64, 184 by 128x128x64.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tilewright.backend_ptx.targets import Target
    from tilewright.tileir.core import Function, Op
    from tilewright.tileir.ops.matmul import Mma
    from tilewright.tileir.passes.join_blocks import Join
    from tilewright.tileir.plan import Hints

# Of an accumulator: columns up to which twice as many leave each thread of a warpgroup half of its registers.
COLUMNS = 64
# How many times as long as the tensor cores the operands of a lone product take, whose blocks teams run in turns.
# On an H200, before and now: by 64x128x64 (1.5) 4096^3 222 and 203 us, 2048^3 27 and 24; by 64x256x64 (1.25) 202 and
# 206, 8192x8192x512 113 and 125.
LONGER = 1.5


def joins_of(function: Function, target: Target, hints: Hints) -> tuple[int, ...]:
    """How many blocks of each axis of the grid become one; nothing where they stay alone, as they do where hints say
    how a block runs."""
    from tilewright.tileir.analysis.unit import Unit
    from tilewright.tileir.core import clone_function
    from tilewright.tileir.ops.matmul import Mma
    from tilewright.tileir.passes.join_blocks import join_most

    asked = any(hint is not None for hint in (hints.num_ctas, hints.occupancy, hints.num_worker_warps))
    if asked or not target.has_tma or not any(isinstance(op, Mma) for op in function.walk()):
        return ()
    copied = clone_function(function)
    return join_most(Unit(copied), lambda join: _pays(copied, join, target))


def _pays(function: Function, join: Join, target: Target) -> bool:
    from tilewright.backend_ptx.passes.matmul.choice import warpgroup_kind
    from tilewright.tileir.carried import innermost_loops
    from tilewright.tileir.ops.matmul import Mma

    products = [op for op in function.walk() if isinstance(op, Mma)]
    return all(warpgroup_kind(op, target) and _is_short(op, join) for op in products) and any(
        _waits(loop, join, target) for loop in innermost_loops(function))


def _is_short(op: Mma, join: Join) -> bool:
    """Whether an accumulator becomes longer, and is so short that one warpgroup holds it, or twice as much."""
    from tilewright.backend_ptx.layouts.warpgroup import ROWS

    rank = len(op.acc.type.shape)
    most = {rank - 2: ROWS, rank - 1: COLUMNS}
    axis = join.chosen.get(op.acc)
    return axis is not None and op.acc.type.shape[axis] <= most.get(axis, 0)


def _waits(loop: Op, join: Join, target: Target) -> bool:
    """Whether what an iteration loads takes as long as its products, or longer. Not where blocks end at different
    times, and threads take as long, too: two CTAs then share an SM, and leave no registers for what one block keeps
    while the other one goes on (causal attention with 64 channels by 64x64: 434 us as it is, 462 joined)."""
    from tilewright.backend_ptx.resources.pipes import MUFU_RATE, SIXTEEN, TMA_BYTES
    from tilewright.tileir.analysis.axes import is_tile
    from tilewright.tileir.ops.math import FloatUnary
    from tilewright.tileir.ops.matmul import Mma
    from tilewright.tileir.ops.memory import Load

    ops = list(loop.inside())
    products = [op for op in ops if isinstance(op, Mma)]
    work = sum(op.acc.type.size * op.a.type.shape[-1] * op.a.type.dtype.bitwidth / SIXTEEN for op in products)
    loaded = sum(op.result.type.bytes for op in ops if isinstance(op, Load)) / TMA_BYTES
    computed = sum(op.result.type.size for op in ops if isinstance(op, FloatUnary) and is_tile(op.result)) / MUFU_RATE
    cycles = work / target.mma_rate
    if join.uneven and computed >= cycles:
        return False
    return bool(products) and loaded >= cycles * (LONGER if len(products) == 1 else 1)
