"""Shared memory that buffers take: how long each one lives, and how much is alive at once.

Bulk stores read a buffer for some time: it lives until the kernel ends, and as long as all loops around.
Rings synchronised by mbarriers, and the mbarriers, keep their bytes for the whole kernel: the producer runs ahead of
the rest of the CTA, and no CTA barrier holds it up. So do buffers to which other CTAs of a cluster write.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from tilewright.backend_ptx.layouts.bulk import SLOT_ALIGN
from tilewright.backend_ptx.ops.bulk import MbarrierInit, TmaLoad, TmaStore
from tilewright.backend_ptx.ops.cluster import ClusterExchange, ClusterOpen
from tilewright.backend_ptx.ops.shared import SharedAlloc
from tilewright.backend_ptx.ops.warpgroup import SharedView, Wgmma, WgmmaWait
from tilewright.backend_ptx.targets import KIB
from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.ops.control import For, While
from tilewright.tileir.types import SharedType

# A whole row of banks, so that swizzles computed from offset 0 hold everywhere. The hardware's own swizzles, of TMA and
# wgmma, are functions of the address and need more: SLOT_ALIGN.
ALIGNMENT = 128
# What exchanges of reductions across warps take at most, usually less.
EXCHANGES = KIB


@dataclass(slots=True, eq=False)
class Interval:
    """A buffer and the program positions of its first and last possible use."""

    op: SharedAlloc
    first: int
    last: int
    align: int = ALIGNMENT

    @property
    def size(self) -> int:
        return buffer_bytes(self.op.type)


def buffer_bytes(type_: SharedType) -> int:
    """Bytes that a buffer takes, its alignment included."""
    raw = type_.size * type_.copies * type_.dtype.bytes
    return -(-raw // ALIGNMENT) * ALIGNMENT


def find_intervals(function: Function) -> list[Interval]:
    """The lifetime of every buffer. One that exists before a loop and is used in it lives until the loop ends."""
    intervals: dict[Value, Interval] = {}
    running: list[Interval] = []  # read by products that no wait has covered
    storing: list[Interval] = []  # by bulk stores, of which some wait at the end of the kernel covers the last
    guarded: list[Interval] = []
    position = 0

    def visit(block: Block, loops: tuple[list[Interval], ...]) -> None:
        nonlocal position
        for op in block.ops:
            position += 1
            if isinstance(op, SharedAlloc):
                intervals[op.result] = Interval(op, position, position)
            here = [intervals[v] for v in op.operands if v in intervals]
            if isinstance(op, SharedView):
                intervals[op.result] = here[0]
            elif isinstance(op, Wgmma):
                running.extend(here)
            elif isinstance(op, WgmmaWait):
                here = [*here, *running]
                if op.pending == 0:
                    running.clear()
            elif isinstance(op, TmaStore):
                storing.extend(here)
            elif isinstance(op, (TmaLoad, MbarrierInit, ClusterOpen, ClusterExchange)):
                guarded.extend(here)
            if isinstance(op, (TmaLoad, TmaStore, Wgmma)):
                _align(op, intervals)
            for found in here:
                found.last = position
                for used in loops:
                    used.append(found)
            start = position
            used_here: list[Interval] = []
            inner = (*loops, used_here) if isinstance(op, (For, While)) else loops
            for nested in op.blocks:
                visit(nested, inner)
            for found in used_here:
                if found.first < start:
                    found.last = position
            if inner is not loops:
                for found in (*running, *storing):  # into the next round
                    found.first, found.last = min(found.first, start), position

    visit(function.body, ())
    for interval in storing:
        interval.last = position
    for interval in guarded:
        interval.first, interval.last = 0, position
    return list(dict.fromkeys(intervals.values()))


def _align(op: Op, intervals: dict[Value, Interval]) -> None:
    """What the hardware's swizzles need of the buffers that it fills or multiplies."""
    for value in (op.buffer,) if isinstance(op, TmaLoad) else op.operands:
        if value in intervals:
            intervals[value].align = SLOT_ALIGN


def peak_bytes(function: Function, where: Container[Op] | None = None) -> int:
    """The most bytes of buffers alive at once; of those allocated by the ops in `where`, if that is given."""
    intervals = [i for i in find_intervals(function) if where is None or i.op in where]
    return max((sum(i.size for i in intervals if i.first <= at.first <= i.last) for at in intervals), default=0)


def lasting_bytes(function: Function, but: Container[Op] = ()) -> int:
    """Bytes of buffers from which bulk stores of a loop's round may still read in the next: nothing else in the loop
    may take them. Allocations in `but` do not count."""
    loops = (op for op in function.walk() if isinstance(op, (For, While)))
    stores = (op for loop in loops for block in loop.blocks for op in block.walk() if isinstance(op, TmaStore))
    return sum(buffer_bytes(buffer.type) for buffer in {op.buffer for op in stores} if buffer.op not in but)
