"""Loops that do not end: iterations after which carried values and memory are what they were would repeat for ever.

Blocks that wait for others run one after another, and a chunk runs alone: nothing else changes memory meanwhile. So
nothing ends a spin that the blocks before have not ended. The check is exact; loops whose values keep changing meet a
limit.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tilewright.interp.checking.changes import Changes
from tilewright.interp.checking.log import Stopped
from tilewright.interp.checking.places import block_coordinates
from tilewright.interp.checking.report import Report
from tilewright.interp.chunk import Regs
from tilewright.interp.lowering import Step
from tilewright.tileir.core import Op
from tilewright.tileir.diagnostics import Span
from tilewright.tileir.ops import control
from tilewright.tileir.types import TileType

FIRST_LOOK = 16
"""Iterations before the first look. Each look compares some iterations with what there was when it began, and the next
begins after four times as many."""

LOOK = 256
"""The most iterations of one look, where they access memory: each access is then watched."""

MOST_ITERATIONS = 1_000_000


class Spin:
    """One run of a loop: its iterations, and what there was when the look began at `since` that ends at `until`."""

    def __init__(self) -> None:
        self.count = 0
        self.next = FIRST_LOOK
        self.since = self.until = 0
        self.held: list[tuple[int, Any]] | None = None
        self.changes = Changes()


def start(slot: int) -> Step:
    """The loop begins."""
    def step(regs: Regs) -> None:
        regs[slot] = Spin()
    return step


def iteration(op: control.While, low: Any, slot: int) -> Step:
    """The condition has been computed once more."""
    condition: Any = op.before.terminator
    cond, params = low.slot(condition.cond), low.slot_list(v for v in op.before.params if isinstance(v.type, TileType))
    arrays = low.slot_list(v for v in op.before.params if not isinstance(v.type, TileType))
    most = LOOK if _accesses(op) else MOST_ITERATIONS

    def held(regs: Regs) -> list[tuple[int, Any]]:
        return [(p, np.ascontiguousarray(regs[p]).tobytes()) for p in params] + [(a, id(regs[a])) for a in arrays]

    def same(regs: Regs, spin: Spin) -> bool:
        tiles, rest = spin.held[:len(params)], spin.held[len(params):]  # type: ignore[index]
        return all(np.ascontiguousarray(regs[p]).tobytes() == before for p, before in tiles) and all(
            id(regs[a]) == before for a, before in rest) and spin.changes.none

    def step(regs: Regs) -> None:
        spin: Spin = regs[slot]
        spin.count += 1
        if spin.count < spin.next:
            return
        going = np.any(regs[cond])
        if going and spin.count > MOST_ITERATIONS:
            _stop(regs, op, regs[cond], _not_ended(spin.count))
        if spin.held is None:
            if going:
                spin.held, spin.changes = held(regs), regs[0].memory.watch()
                spin.since, spin.until = spin.count, spin.count + min(spin.count, most)
            return
        if going and same(regs, spin):
            _stop(regs, op, regs[cond], _endless(spin.count - spin.since, regs[0].memory.last_read))
        if not going or spin.count >= spin.until:
            regs[0].memory.unwatch(spin.changes)
            spin.held, spin.next = None, min(4 * spin.count, max(spin.count, MOST_ITERATIONS) + 1)
    return step


def _accesses(loop: control.While) -> bool:
    """Do iterations access memory?"""
    return any(op.effectful for block in loop.blocks for op in block.walk())


def _stop(regs: Regs, op: Op, going: Any, report: Report) -> None:
    block = block_coordinates(regs[0], int(np.argmax(np.atleast_1d(going))))
    regs[0].memory.log.add(("progress", op), 1, lambda: replace(report, span=op.span, block=block))
    raise Stopped("the launch was stopped in a loop that does not end", op.span)


def _not_ended(count: int) -> Report:
    return Report("progress", f"this loop has not ended after {count} iterations", values={"iterations": count},
                  reason="the limit of checked launches is there to find loops that never end")


def _endless(period: int, waits: tuple[str, tuple[int, ...], Span] | None) -> Report:
    """What an iteration, or so many, leaves as it was, with what is read last: array, element and line."""
    if period > 1:
        report = Report("progress", f"this loop never ends: {period} iterations leave everything as it was",
                        values={"iterations": period},
                        reason="then the variables of the loop and memory are what they were, and so on for ever")
    elif waits is None:
        return Report("progress", "this loop never ends: an iteration changes nothing",
                      reason="neither the variables of the loop nor memory change, so that its condition stays true")
    else:
        element = f"{waits[0]}[{', '.join(map(str, waits[1]))}]"
        report = Report(
            "progress", f"this loop waits for {element}, which no block that runs before has changed",
            reason="a block may only wait for blocks that run already: nothing says that a later one starts before "
                   "this one ends",
            hint="let blocks wait for those with lower numbers, or take numbers with atomic_add")
    if waits is None:
        return report
    array, index, line = waits
    return replace(report, array=array, index=index, related=line, related_label="the loop reads it here")


def loops(function: Any) -> dict[int, control.While]:
    """The while loops of a function, by the blocks that compute their conditions."""
    return {id(op.before): op for op in function.walk() if isinstance(op, control.While)}
