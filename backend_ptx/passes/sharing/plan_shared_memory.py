"""Give every shared buffer its place: buffers that are not alive at the same time share bytes.

    before: %0: shared<64x64xf32> = shared_alloc(type=...)
    after:  func @k(...) options(shared_bytes=16384) { ... %0: shared<64x64xf32> = shared_alloc(type=..., offset=0) }

Bulk stores read a buffer for some time: it lives until the kernel ends, and as long as all loops around.
Rings that mbarriers guard, and the mbarriers, keep their bytes for the whole kernel: the producer runs ahead of the
rest of the block, and no barrier of the others holds it up. So do buffers to which other blocks of a cluster write.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.layouts.bulk import SLOT_ALIGN
from tilewright.backend_ptx.ops.bulk import MbarrierInit, TmaLoad, TmaStore
from tilewright.backend_ptx.ops.cluster import ClusterExchange, ClusterOpen
from tilewright.backend_ptx.ops.shared import SharedAlloc
from tilewright.backend_ptx.ops.warpgroup import SharedView, Wgmma, WgmmaWait
from tilewright.backend_ptx.targets import Target
from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.diagnostics import TileValueError
from tilewright.tileir.ops.control import For, While
from tilewright.tileir.types import SharedType

OPTION = "shared_bytes"
# A whole row of banks, so that swizzles computed from offset 0 hold everywhere. The hardware's own swizzles, of TMA and
# wgmma, are functions of the address and need more: SLOT_ALIGN.
ALIGNMENT = 128
# Buffers up to this size get bytes of their own while all of them take no more than the total: a buffer that reuses
# bytes costs a barrier, and so few bytes do not keep a block from a multiprocessor.
SMALL, SMALL_TOTAL = 1024, 4096


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


def plan_shared_memory(c: Compilation) -> None:
    """Set the offset of every `shared_alloc` and the option shared_bytes; TileValueError if the target has less."""
    function, target = c.function, c.target
    intervals = find_intervals(function)
    total = _place(intervals)
    function.options[OPTION] = total
    if total > target.shared_per_block:
        raise _too_much(function, intervals, total, target)


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
        offset = 0
        busy = [p for p in placed if p.last >= here.first and p.first <= here.last]
        for other in sorted(busy, key=lambda p: p.op.offset):
            if offset + here.size <= other.op.offset:
                break
            offset = max(offset, -(-(other.op.offset + other.size) // here.align) * here.align)
        here.op.offset = offset
        placed.append(here)
        total = max(total, offset + here.size)
    return total


def _too_much(function: Function, intervals: list[Interval], total: int, target: Target) -> TileValueError:
    largest = max(intervals, key=lambda i: i.size)
    kib = 1024
    return TileValueError(
        f"kernel {function.name} needs {total / kib:g} KiB of shared memory, {target} has "
        f"{target.shared_per_block / kib:g} KiB for a block", largest.op.span,
        label=f"{largest.size / kib:g} KiB of it for this operation", hints=["use smaller tiles"],
    )

