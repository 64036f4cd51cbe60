"""Which loads pass the L1 cache by, so that it keeps the tiles that all blocks read.

A row of a matrix is read once; weights that go with every row are read by each block in turn. Long rows that streamed
through the same cache would push long weights out, and the L2 cache had to bring them again for each row.
"""

from __future__ import annotations

from collections import Counter
from math import prod
from typing import NamedTuple

from tilewright.backend_ptx.layouts.flat import LANE
from tilewright.backend_ptx.lower.addresses import TileAccess
from tilewright.backend_ptx.lower.context import Context
from tilewright.backend_ptx.ops.async_copy import AsyncLoad
from tilewright.backend_ptx.passes.places import counts_blocks, same_for_all
from tilewright.tileir.core import Function, Value
from tilewright.tileir.ops.memory import Load

VECTOR_BYTES, LINE_BYTES = 16, 128
# Of tiles that all blocks read: less of them stays in a cache of some 100 KiB whatever streams through it.
MANY_BYTES = 32 * 1024


class _Reads(NamedTuple):
    """How many loads read each array, and the bytes of the tiles that all blocks read."""

    times: Counter[Value]
    common: int


def passes_by(ctx: Context, op: Load, tile: TileAccess) -> bool:
    """Whether a load reads lines of memory that nothing else of the kernel reads, beside tiles that all blocks read."""
    if not tile.ref.read_only or tile.vector * tile.bytes != VECTOR_BYTES or not _whole_lines(tile):
        return False
    if not any(map(counts_blocks, op.index)):
        return False
    reads = _reads(ctx)
    return reads.common >= MANY_BYTES and reads.times[op.array] == 1


def _reads(ctx: Context) -> _Reads:
    key = "reads", ctx.function
    if key not in ctx.memo:
        ctx.memo[key] = _reads_of(ctx.function)
    found: _Reads = ctx.memo[key]
    return found


def _reads_of(function: Function) -> _Reads:
    times: Counter[Value] = Counter()
    common = 0
    for op in function.walk():
        times.update(op.effects().reads)
        if isinstance(op, (Load, AsyncLoad)) and op.shape and same_for_all(op.index):
            common += prod(op.shape) * op.array.type.dtype.bytes
    return _Reads(times, common)


def _whole_lines(tile: TileAccess) -> bool:
    """Whether neighbouring lanes read neighbouring vectors, together whole lines of memory."""
    if tile.layout is None:
        return False
    wanted = [tile.vector << bit for bit in range((LINE_BYTES // VECTOR_BYTES).bit_length() - 1)]
    found = [basis[tile.vector_axis] if sum(map(bool, basis)) == 1 else 0
             for basis in tile.layout.bases(LANE)[: len(wanted)]]
    return found == wanted
