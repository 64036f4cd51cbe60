"""Loop-invariant motion: ops that compute the same in every iteration move before the loop.

Before:

    for(lower=%zero, upper=%n, step=%one, init=()) .loop(%k: i32) {
      %w: tile<16xf32> = load(array=%p, index=(%zero), shape=(16), steps=(16), order=(0))
      %v: tile<16xf32> = mul(lhs=%w, rhs=%w)
      store(array=%q, index=(%k), value=%v, steps=(16), order=(0))
      yield(values=())
    }

After:

    %w: tile<16xf32> = load(array=%p, index=(%zero), shape=(16), steps=(16), order=(0))
    %v: tile<16xf32> = mul(lhs=%w, rhs=%w)
    for(lower=%zero, upper=%n, step=%one, init=()) .loop(%k: i32) {
      store(array=%q, index=(%k), value=%v, steps=(16), order=(0))
      yield(values=())
    }

Pure ops never trap, so they move even from a loop that may not run. A load moves if nothing in the loop may write what
it reads; one without bounds checks, in addition, only from a loop that surely runs. What a while loop without effects
waits for (tileir/analysis/waiting.py) stays.
"""

from __future__ import annotations

from typing import Any

from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.analysis.waiting import awaited
from tilewright.tileir.core import Block, Op, Value
from tilewright.tileir.ops import control


def licm(unit: Unit) -> None:
    _Licm(unit).block(unit.function.body)


class _Licm:
    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.dependences = unit.dependences

    def block(self, block: Block) -> None:
        """Move what can move out of the loops of a block, innermost loops first."""
        out: list[Op] = []
        for op in block.ops:
            if op._body_fields:
                for inner in op.blocks:
                    self.block(inner)
                if isinstance(op, control.For | control.While):
                    out += self.invariants(op)
            out.append(op)
        block.ops = out

    def invariants(self, loop: control.For | control.While) -> list[Op]:
        moved: list[Op] = []
        waited = awaited(loop)
        for block in loop.blocks:
            inside: set[Value] = set(block.params)
            stay: list[Op] = []
            for op in block.ops:
                if op not in waited and self.may_move(op, loop, block) and not any(v in inside for v in op.operands):
                    moved.append(op)
                else:
                    stay.append(op)
                    inside.update(op.results)
            block.ops = stay
        return moved

    def may_move(self, op: Op, loop: Any, block: Block) -> bool:
        if op.terminator or op._body_fields:
            return False
        summary, around = self.dependences.summary(op), self.dependences.summary(loop)
        if summary.none:
            return True
        if not summary.only_reads or around.ordered or not summary.reads.isdisjoint(around.writes):
            return False
        return getattr(op, "check_bounds", True) or self.surely_runs(loop, block)

    def surely_runs(self, loop: Any, block: Block) -> bool:
        if isinstance(loop, control.While):
            return block is loop.before
        known = self.unit.facts  # invariant ops that have moved have the same values there
        return known[loop.lower].high < known[loop.upper].low
