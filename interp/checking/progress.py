"""Loops that do not end: an iteration that changes neither carried values nor memory would repeat for ever.

Blocks that wait for others run one after another, and a chunk runs alone: nothing else changes memory meanwhile. So
nothing ends a spin that the blocks before have not ended. The check is exact; loops whose values keep changing meet a
limit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.interp.checking.log import Stopped
from tilewright.interp.checking.places import block_coordinates
from tilewright.interp.checking.report import Report
from tilewright.interp.chunk import Regs
from tilewright.interp.lowering import Step
from tilewright.tileir.core import Op
from tilewright.tileir.ops import control
from tilewright.tileir.types import TileType

FIRST_LOOK = 16
"""Iterations before the first comparison; the next come after twice as many each."""

MOST_ITERATIONS = 1_000_000


class Spin:
    """One run of a loop: its iterations, and what the last one that was looked at has left."""

    def __init__(self) -> None:
        self.count = 0
        self.look = FIRST_LOOK
        self.held: list[bytes] | None = None
        self.changes = 0


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

    def step(regs: Regs) -> None:
        spin: Spin = regs[slot]
        spin.count += 1
        if spin.count < spin.look:
            return
        memory = regs[0].memory
        if not np.any(regs[cond]):
            if spin.held is not None:
                memory.unwatch()
            return
        held = [np.ascontiguousarray(regs[p]).tobytes() for p in params] + [str(id(regs[a])).encode() for a in arrays]
        if spin.held is None:
            spin.held = held
            spin.changes = memory.watch()
            return
        unchanged = memory.unwatch() == spin.changes and held == spin.held
        spin.held, spin.look = None, 2 * spin.count
        if unchanged:
            _stop(regs, op, np.atleast_1d(regs[cond]), None)
        if spin.count > MOST_ITERATIONS:
            _stop(regs, op, np.atleast_1d(regs[cond]), spin.count)
    return step


def _stop(regs: Regs, op: Op, going: Any, count: int | None) -> None:
    chunk = regs[0]
    block = block_coordinates(chunk, int(np.argmax(going)))
    waits = chunk.memory.last_read
    if count is not None:
        message = f"this loop has not ended after {count} iterations"
        report = Report("progress", message, op.span, block=block, values={"iterations": count},
                        reason="the limit of checked launches is there to find loops that never end")
    elif waits is None:
        report = Report("progress", "this loop never ends: an iteration changes nothing", op.span, block=block,
                        reason="neither the variables of the loop nor memory change, so that its condition stays true")
    else:
        array, index, line = waits
        element = f"{array}[{', '.join(map(str, index))}]"
        report = Report(
            "progress", f"this loop waits for {element}, which no block that runs before has changed", op.span,
            array=array, index=index, block=block, related=line, related_label="the loop reads it here",
            reason="a block may only wait for blocks that run already: nothing says that a later one starts before "
                   "this one ends",
            hint="let blocks wait for those with lower numbers, or take numbers with atomic_add")
    chunk.memory.log.add(("progress", op), 1, lambda: report)
    raise Stopped("the launch was stopped in a loop that does not end", op.span)


def loops(function: Any) -> dict[int, control.While]:
    """The while loops of a function, by the blocks that compute their conditions."""
    return {id(op.before): op for op in function.walk() if isinstance(op, control.While)}
