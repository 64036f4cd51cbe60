"""Loads of tiles that pass through: no other block reads them, nor this one again, in kernels that write little.

What such a load reads need take no place in a cache near the block. A kernel that writes as much as it reads is no
faster for that, or slower (softmax and its gradient, H100), sums of rows are: behind a copy of other arrays rows of
8192 bfloat16 numbers by 5 percent, of 2048 by 6, of 28672 by 1.
"""

from __future__ import annotations

from collections import Counter

from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.carried import origins
from tilewright.tileir.core import Op
from tilewright.tileir.ops.arith import FloorDiv, Mod
from tilewright.tileir.ops.arrays import BlockId
from tilewright.tileir.ops.memory import Load
from tilewright.tileir.types import ArrayType, SharedType, TileType

LEAST_SHARE = 8  # times as many bytes are read as are written


def passing_loads(unit: Unit) -> frozenset[Op]:
    """Tiles of one operation are counted once, however often a loop runs it."""
    ops = list(unit.function.walk())
    loads = [op for op in ops if isinstance(op, Load)]
    read = sum(op.result.type.bytes for op in loads)
    for op in ops:
        if op.writing and any(isinstance(memory.type, ArrayType) for memory in op.effects().writes):
            read -= LEAST_SHARE * sum(v.type.bytes for v in op.operands if isinstance(v.type, TileType | SharedType))
            if read < 0:
                return frozenset()
    times = Counter(op.array for op in loads)
    axes = {op.axis for op in ops if isinstance(op, BlockId)}
    return frozenset(op for op in loads if axes and times[op.array] == 1 and axes <= _coordinates(unit, op))


def _coordinates(unit: Unit, load: Load) -> set[int]:
    """The axes of the grid from whose coordinates a place is computed; none where a quotient is a coordinate, which
    blocks may share."""
    made = [value.op for value in origins(load.index, unit.parents) if value.op is not None]
    shared = any(isinstance(op, FloorDiv | Mod) for op in made)
    return set() if shared else {op.axis for op in made if isinstance(op, BlockId)}
