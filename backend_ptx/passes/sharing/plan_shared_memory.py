"""Allocate shared memory: buffers with disjoint live ranges share bytes.

    before: %0: shared<64x64xf32> = shared_alloc(type=...)
    after:  func @k(...) plan(shared_bytes=16384) { ... %0: shared<64x64xf32> = shared_alloc(type=..., offset=0) }

tileir/analysis/buffers.py computes the live ranges, and places by these.
"""

from __future__ import annotations

from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.resources.occupancy import shared_of_cta
from tilewright.backend_ptx.resources.shared import OutOfSharedMemory, alignment, find_intervals
from tilewright.backend_ptx.targets import Target
from tilewright.tileir.analysis.buffers import Interval, place
from tilewright.tileir.analysis.unit import ALL, Preserved
from tilewright.tileir.core import Function


def plan_shared_memory(c: Compilation) -> Preserved:
    """Set the offset of every `shared_alloc` and the plan's shared_bytes; OutOfSharedMemory if the target has less."""
    function, target = c.function, c.target
    intervals = find_intervals(function)
    for interval in intervals:
        interval.op.each = c.plan.teams > 1 and not interval.guarded
    asked = c.hints.occupancy or 1  # for one CTA fewer slots of a ring are better than more barriers
    total = place(intervals, alignment, shared_of_cta(asked, target) if asked > 1 else target.shared_per_sm)
    c.plan.shared_bytes = total
    if total > target.shared_per_block:
        raise _too_much(function, intervals, total, target)
    return ALL


def _too_much(function: Function, intervals: list[Interval], total: int, target: Target) -> OutOfSharedMemory:
    largest = max(intervals, key=lambda i: i.size)
    kib = 1024
    return OutOfSharedMemory(
        f"kernel {function.name} needs {total / kib:g} KiB of shared memory, {target} has "
        f"{target.shared_per_block / kib:g} KiB for a block", largest.op.span,
        label=f"{largest.size / kib:g} KiB of it for this operation", hints=["use smaller tiles"],
        excess=total - target.shared_per_block, slots=max(i.op.type.copies for i in intervals), largest=largest.size)
