"""Shared memory: the live range of each buffer, in which engines may read it long after the op that started them.

A buffer that an engine reads is live until a wait covers the reads, and throughout all enclosing loops; if nothing
tracks the last reads (bulk stores), until the kernel ends. Buffers synchronised by mbarriers, and the mbarriers, keep
their bytes for the whole kernel: the producer runs ahead of the other warps, and other CTAs write at their own pace.
What is used in one branch alone shares bytes with what is used in the other (`branches.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from tilewright.tileir.analysis.branches import Branches, exclusive, most_at_once, shared_branches, with_branches
from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.engines import Engine
from tilewright.tileir.types import SharedType

# Buffers up to this size get bytes of their own while all of them take no more than the total: a buffer that reuses
# bytes costs a barrier, and so few bytes do not lower occupancy.
SMALL, SMALL_TOTAL = 1024, 4096


@dataclass(slots=True, eq=False)
class Interval:
    """A buffer and the program positions of its first and last possible use. `op` allocates its `size` bytes, from its
    `offset` on; `swizzled`: an engine computes swizzles from its addresses; `guarded`: mbarriers order its accesses;
    `within`: the branches that all ops that name it are in, its allocation apart."""

    op: Any
    size: int
    first: int
    last: int
    swizzled: bool = False
    guarded: bool = False
    within: Branches | None = None

    @property
    def branches(self) -> Branches:
        return self.within or ()

    def meets(self, other: Interval) -> bool:
        """Whether both may be in use at one time."""
        return (self.first <= other.last and other.first <= self.last
                and not exclusive(self.branches, other.branches))

    def named(self, where: Branches) -> None:
        """By an op in these branches."""
        self.within = where if self.within is None else shared_branches(self.within, where)


def live_buffers(function: Function, allocates: type[Op], size: Callable[[SharedType], int]) -> list[Interval]:
    """The live range of every buffer, which ops of a class allocate. One that is allocated above a loop and used in it
    is live until the loop ends; one that is `guarded` by mbarriers throughout. `size`: the bytes of a buffer."""
    intervals: dict[Value, Interval] = {}
    outstanding: dict[Engine, list[Interval]] = {}  # read by an engine, and no wait has covered it
    guarded: list[Interval] = []
    position = 0

    def visit(block: Block, loops: tuple[list[Interval], ...]) -> None:
        nonlocal position
        for op in block.ops:
            position += 1
            if isinstance(op, allocates):
                intervals[op.result] = Interval(op, size(op.result.type), position, position)
                guarded.extend([intervals[op.result]] if getattr(op, "guarded", False) else ())
            here = [intervals[v] for v in op.operands if v in intervals]
            if here:  # buffers that an op makes of one are views of it
                intervals.update((r, here[0]) for r in op.results if isinstance(r.type, SharedType))
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
        interval.first, interval.last, interval.guarded = 0, position, True
    _note_branches(function, intervals)
    return list(dict.fromkeys(intervals.values()))


def _note_branches(function: Function, intervals: Mapping[Value, Interval]) -> None:
    for op, where in with_branches(function.body):
        for value in intervals.keys() & op.operands:
            intervals[value].named(where)


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
            interval.swizzled = True
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


def most_live(intervals: Sequence[Interval]) -> int:
    """The most bytes that are in use at one time."""
    live = ([i for i in intervals if i.first <= at.first <= i.last] for at in intervals)
    return max((most_at_once((i.size, i.branches) for i in found) for found in live), default=0)


# ---- places -----------------------------------------------------------------------------------------------------


def place(intervals: Sequence[Interval], alignment: Callable[[Interval], int], room: int) -> int:
    """Give each buffer an offset, a multiple of its alignment. Gives the total number of bytes. Small buffers share
    bytes where all buffers then take at most `room`, which they exceed otherwise."""
    if sum(i.size for i in intervals if i.size <= SMALL) > SMALL_TOTAL:
        return _place(intervals, alignment)
    end = max((i.last for i in intervals), default=0)
    apart = [replace(i, first=0, last=end) if i.size <= SMALL else i for i in intervals]
    total = _place(apart, alignment)
    if total > room and (shared := _place(intervals, alignment)) <= room:
        return shared
    return _place(apart, alignment) if total > room else total


def _place(intervals: Sequence[Interval], alignment: Callable[[Interval], int]) -> int:
    """First fit, in the order of the first use, or what is in use throughout before the others, where that takes fewer
    bytes."""
    orders = [list(intervals), sorted(intervals, key=lambda i: i.first > 0)]
    _, best = min((_first_fit(order, alignment), number) for number, order in enumerate(orders))
    return _first_fit(orders[best], alignment)


def _first_fit(intervals: Sequence[Interval], alignment: Callable[[Interval], int]) -> int:
    """The same in one order."""
    total = 0
    placed: list[Interval] = []
    for here in intervals:
        offset, align = 0, alignment(here)
        for other in sorted(filter(here.meets, placed), key=lambda p: p.op.offset):
            if offset + here.size <= other.op.offset:
                break
            offset = max(offset, -(-(other.op.offset + other.size) // align) * align)
        here.op.offset = offset
        placed.append(here)
        total = max(total, offset + here.size)
    return total


def conflicts(intervals: Sequence[Interval]) -> Iterator[tuple[Interval, Interval]]:
    """The pairs of buffers that have a byte in common while both may be in use."""
    for one, other in combinations(intervals, 2):
        start, end = max(one.op.offset, other.op.offset), min(i.op.offset + i.size for i in (one, other))
        if start < end and one.meets(other):
            yield one, other
