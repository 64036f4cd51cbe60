"""Shared memory of buffers: the live range of each, and the most bytes live at once.

A buffer that an engine reads is live until a wait covers the reads, and throughout all enclosing loops; if nothing
tracks the last reads (bulk stores), until the kernel ends. Buffers synchronised by mbarriers, and the mbarriers, keep
their bytes for the whole kernel: the producer runs ahead of the other warps, and other CTAs write at their own pace.
"""

from __future__ import annotations

from collections.abc import Collection, Container
from dataclasses import dataclass
from typing import Any

from tilewright.backend_ptx.layouts.bulk import SLOT_ALIGN
from tilewright.backend_ptx.ops.layout import ConvertLayout
from tilewright.backend_ptx.ops.matmul import Product
from tilewright.backend_ptx.ops.shared import SharedAlloc
from tilewright.backend_ptx.ops.warpgroup import SharedView, Stage
from tilewright.backend_ptx.targets import KIB
from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.diagnostics import TileValueError
from tilewright.tileir.engines import Engine
from tilewright.tileir.ops.convert import Cast
from tilewright.tileir.ops.reduce import ArgReduction, Reduction
from tilewright.tileir.ops.shape import Take
from tilewright.tileir.types import SharedType

# A whole row of banks, so that swizzles computed from offset 0 hold everywhere. The hardware's own swizzles, of TMA and
# wgmma, are functions of the address and need more: SLOT_ALIGN.
ALIGNMENT = 128
# The most that cross-warp shuffles of reductions take, usually less.
EXCHANGES = KIB
# For mbarriers and alignment of each buffer.
SLACK = 2 * KIB


class OutOfSharedMemory(TileValueError):
    """A plan whose buffers take `excess` bytes more than a CTA can have; its rings have up to `slots` slots, and
    `largest` bytes is what its largest buffer takes."""

    def __init__(self, *given: Any, excess: int, slots: int, largest: int, **named: Any) -> None:
        super().__init__(*given, **named)
        self.excess, self.slots, self.largest = excess, slots, largest


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
    raw = type_.bytes * type_.copies
    return -(-raw // ALIGNMENT) * ALIGNMENT


def find_intervals(function: Function) -> list[Interval]:
    """The live range of every buffer. One that is allocated above a loop and used in it is live until the loop ends."""
    intervals: dict[Value, Interval] = {}
    outstanding: dict[Engine, list[Interval]] = {}  # read by an engine, and no wait has covered it
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
            here += _asynchronous(op, intervals, outstanding, guarded)
            for found in here:
                found.last = position
                for used in loops:
                    used.append(found)
            if not op.blocks:
                continue
            start = position
            used_here: list[Interval] = []
            inner = (*loops, used_here) if op.repeats else loops
            for nested in op.blocks:
                visit(nested, inner)
            if inner is not loops:
                _live_through_loop(used_here, outstanding, start, position)

    visit(function.body, ())
    for interval in (i for reads in outstanding.values() for i in reads):
        interval.last = position
    for interval in guarded:
        interval.first, interval.last = 0, position
    return list(dict.fromkeys(intervals.values()))


def _live_through_loop(
    used: list[Interval], outstanding: dict[Engine, list[Interval]], start: int, stop: int
) -> None:
    """A buffer allocated above a loop and used in it is live until its end; reads may be outstanding in the next
    iteration.
    """
    for found in used:
        if found.first < start:
            found.last = stop
    for found in (f for reads in outstanding.values() for f in reads):
        found.first, found.last = min(found.first, start), stop


def _asynchronous(
    op: Op, intervals: dict[Value, Interval], outstanding: dict[Engine, list[Interval]],
    guarded: list[Interval],
) -> list[Interval]:
    """Note what an op starts; the buffers whose reads it waits for. What an engine writes is read later, so that only
    its reads must be known here."""
    if not (op.starting or op.awaiting):
        return []
    effects = op.effects()
    for start in effects.starts:
        interval = intervals.get(start.memory)
        if interval is None:
            continue
        if start.engine.swizzles:
            interval.align = SLOT_ALIGN
        if start.exclusive:
            guarded.append(interval)
        elif not start.writes:
            outstanding.setdefault(start.engine, []).append(interval)
    waited: list[Interval] = []
    for engine, pending, _ in effects.completes:
        if not engine.lasting:
            waited += outstanding.get(engine, [])
            if pending == 0:
                outstanding.pop(engine, None)
    return waited


def peak_bytes(function: Function, where: Container[Op] | None = None) -> int:
    """The most bytes of buffers live at once; of those allocated by the ops in `where`, if that is given."""
    intervals = [i for i in find_intervals(function) if where is None or i.op in where]
    return max((sum(i.size for i in intervals if i.first <= at.first <= i.last) for at in intervals), default=0)


def lasting_bytes(function: Function, but: Container[Op] = ()) -> int:
    """Bytes of buffers that an engine of one iteration may still read in the next: nothing else in the loop may take
    them. Allocations in `but` do not count."""
    loops = (op for op in function.walk() if op.repeats)
    inside = (op for loop in loops for block in loop.blocks for op in block.walk() if op.starting)
    starts = (s for op in inside for s in op.effects().starts)
    buffers = {s.memory for s in starts if s.engine.lasting and not s.writes}
    return sum(buffer_bytes(buffer.type) for buffer in buffers if buffer.op not in but)


def exchanged_bytes(op: Op) -> int:
    """What an op moves between threads through shared memory."""
    if isinstance(op, Take) or (isinstance(op, ConvertLayout) and op.crosses):
        return op.src.type.bytes  # type: ignore[no-any-return]
    return 0


def staged_bytes(op: Op) -> int:
    """What an op puts into shared memory for wgmma."""
    return op.src.type.bytes if isinstance(op, Stage) else 0


def loop_bytes(function: Function, body: Block, gone: Collection[Op]) -> int:
    """Shared memory that is taken while a loop runs, `gone` apart: its buffers and conversions; conversions above it
    whose results its MMAs read fragment by fragment; operands staged for wgmma; buffers that bulk stores may still
    read."""
    inside = set(body.walk())
    read = {_converted(v) for op in inside if isinstance(op, Product) for v in (op.a, op.b)}
    here = (op for op in function.walk() if op not in gone)
    moved = sum(
        staged_bytes(op) + (exchanged_bytes(op) if op in inside or read.intersection(op.results) else 0) for op in here)
    return moved + peak_bytes(function, inside) + lasting_bytes(function, inside)


def _converted(value: Value) -> Value:
    """The value of an operand that is in shared memory: casts are split along with the MMAs."""
    while isinstance(value.op, Cast):
        value = value.op.src
    return value


def other_bytes(function: Function, gone: Collection[Op]) -> int:
    """Shared memory for buffers, conversions, reductions across warps and staged operands, and SLACK; not for ops
    in `gone`."""
    lasting = lasting_bytes(function)
    exchange, staged = peak_bytes(function) - lasting, 0
    for op in function.walk():
        if op in gone:
            continue
        staged += staged_bytes(op)
        exchange = max(exchange, EXCHANGES if isinstance(op, (Reduction, ArgReduction)) else exchanged_bytes(op))
    return exchange + staged + lasting + SLACK
