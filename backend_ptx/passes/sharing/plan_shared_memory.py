"""Allocate shared memory: buffers with disjoint live ranges share bytes.

    before: %0: shared<64x64xf32> = shared_alloc(type=...)
    after:  func @k(...) plan(shared_bytes=16384) { ... %0: shared<64x64xf32> = shared_alloc(type=..., offset=0) }

tileir/analysis/buffers.py computes the live ranges.
"""

from __future__ import annotations

from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.resources.shared import OutOfSharedMemory, alignment, find_intervals
from tilewright.backend_ptx.targets import Target
from tilewright.tileir.analysis.buffers import Interval
from tilewright.tileir.analysis.unit import ALL, Preserved
from tilewright.tileir.core import Function

# Buffers up to this size get bytes of their own while all of them take no more than the total: a buffer that reuses
# bytes costs a barrier, and so few bytes do not lower occupancy.
SMALL, SMALL_TOTAL = 1024, 4096


def plan_shared_memory(c: Compilation) -> Preserved:
    """Set the offset of every `shared_alloc` and the plan's shared_bytes; OutOfSharedMemory if the target has less."""
    function, target = c.function, c.target
    intervals = find_intervals(function)
    total = _place(intervals)
    c.plan.shared_bytes = total
    if total > target.shared_per_block:
        raise _too_much(function, intervals, total, target)
    return ALL


def _place(intervals: list[Interval]) -> int:
    """First fit, in the order of the first use; the total number of bytes."""
    small = [i for i in intervals if i.size <= SMALL]
    if sum(i.size for i in small) <= SMALL_TOTAL:
        end = max((i.last for i in intervals), default=0)
        for interval in small:
            interval.first, interval.last = 0, end
    total = 0
    placed: list[Interval] = []
    for here in intervals:
        offset, align = 0, alignment(here)
        busy = [p for p in placed if p.last >= here.first and p.first <= here.last]
        for other in sorted(busy, key=lambda p: p.op.offset):
            if offset + here.size <= other.op.offset:
                break
            offset = max(offset, -(-(other.op.offset + other.size) // align) * align)
        here.op.offset = offset
        placed.append(here)
        total = max(total, offset + here.size)
    return total


def _too_much(function: Function, intervals: list[Interval], total: int, target: Target) -> OutOfSharedMemory:
    largest = max(intervals, key=lambda i: i.size)
    kib = 1024
    return OutOfSharedMemory(
        f"kernel {function.name} needs {total / kib:g} KiB of shared memory, {target} has "
        f"{target.shared_per_block / kib:g} KiB for a block", largest.op.span,
        label=f"{largest.size / kib:g} KiB of it for this operation", hints=["use smaller tiles"],
        excess=total - target.shared_per_block, slots=max(i.op.type.copies for i in intervals), largest=largest.size,
    )
