"""Loops that do not end: iterations after which carried values and memory are what they were would repeat for ever.

Blocks that wait for others run one after another, and a chunk runs alone: nothing else changes memory meanwhile. So
nothing ends a spin that the blocks before have not ended. The check is exact; loops whose values keep changing meet a
limit.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tilewright.interp.changes import Spin, Watch, accesses, carried_by
from tilewright.interp.checking.log import Stopped
from tilewright.interp.checking.places import block_coordinates, element_of
from tilewright.interp.checking.report import Report
from tilewright.interp.chunk import Regs
from tilewright.interp.lowering import Step
from tilewright.interp.memory import Region, Waiting
from tilewright.tileir.core import Op
from tilewright.tileir.ops import control

FIRST_LOOK = 16
"""Iterations before the first look."""

LOOK = 256
"""The most iterations of one look, where they access memory: each access is then watched."""

MOST_ITERATIONS = 1_000_000


def start(slot: int) -> Step:
    """The loop begins."""
    def step(regs: Regs) -> None:
        regs[slot] = Spin(FIRST_LOOK)
    return step


def iteration(op: control.While, low: Any, slot: int) -> Step:
    """The condition has been computed once more."""
    condition: Any = op.before.terminator
    cond, carried = low.slot(condition.cond), carried_by(op, low)
    most = LOOK if accesses(op) else MOST_ITERATIONS

    def step(regs: Regs) -> None:
        spin: Spin = regs[slot]
        watch: Watch = regs[0].memory.watch
        if not np.any(regs[cond]):
            spin.leave(watch)
            return
        period = spin.look(lambda: carried(regs), watch, most)
        if period and not regs[0].memory.patient(period):
            _stop(regs, op, regs[cond], _endless(period, watch.last_read, regs[0].memory.waiting))
        if spin.count > MOST_ITERATIONS:
            _stop(regs, op, regs[cond], _not_ended(spin.count))
    return step


def _stop(regs: Regs, op: Op, going: Any, report: Report) -> None:
    block = block_coordinates(regs[0], int(np.argmax(np.atleast_1d(going))))
    regs[0].memory.log.add(("progress", op), 1, lambda: replace(report, span=op.span, block=block))
    raise Stopped("the launch was stopped in a loop that does not end", op.span)


def _not_ended(count: int) -> Report:
    return Report("progress", f"this loop has not ended after {count} iterations", values={"iterations": count},
                  reason="the limit of checked launches is there to find loops that never end")


def _endless(period: int, last: tuple[Region, Op] | None, waiting: Waiting) -> Report:
    """What an iteration, or so many, leaves as it was, with what is read last."""
    waits = None if last is None else element_of(last[0], (0,) * len(last[0].shape))
    if period > 1:
        report = Report("progress", f"this loop never ends: {period} iterations leave everything as it was",
                        values={"iterations": period},
                        reason="then the variables of the loop and memory are what they were, and so on for ever")
    elif last is None or waits is None:
        return Report("progress", "this loop never ends: an iteration changes nothing",
                      reason="neither the variables of the loop nor memory change, so that its condition stays true")
    else:
        element = f"{last[0].array.name}[{', '.join(map(str, waits))}]"
        report = Report("progress", f"this loop waits for {element}, {waiting.unchanged}", reason=waiting.reason,
                        hint=waiting.hint)
    if last is None:
        return report
    region, reader = last
    return replace(
        report, array=region.array.name, index=waits, related=reader.span, related_label="the loop reads it here")


def loops(function: Any) -> dict[int, control.While]:
    """The while loops of a function, by the blocks that compute their conditions."""
    return {id(op.before): op for op in function.walk() if isinstance(op, control.While)}
