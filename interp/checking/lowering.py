"""Closures of a checked launch: before and after those of the interpreter stand steps that look at values."""

from __future__ import annotations

from tilewright.interp.checking.promises import PROMISES
from tilewright.interp.chunk import Regs
from tilewright.interp.lowering import Lowering, Step
from tilewright.tileir.analysis.effects import Dependences
from tilewright.tileir.core import Function, Op


class CheckedLowering(Lowering):
    """Compiles a function for launches on a `CheckedMemory` with these checks."""

    def __init__(
        self, function: Function, axes: frozenset[int], copied: frozenset[int], dependences: Dependences,
        checks: frozenset[str],
    ) -> None:
        self.checks = checks
        super().__init__(function, axes, copied, dependences)

    def step(self, op: Op) -> Step:
        steps = [super().step(op)]
        promise = PROMISES.of(op) if "bounds" in self.checks else None
        if promise is not None:
            steps.insert(0, promise(op, self))
        return steps[0] if len(steps) == 1 else in_turn(steps)


def in_turn(steps: list[Step]) -> Step:
    """One step that takes these, in this order."""
    first, *rest = steps
    if len(rest) == 1:
        [second] = rest

        def two(regs: Regs) -> None:
            first(regs)
            second(regs)
        return two

    def several(regs: Regs) -> None:
        first(regs)
        for step in rest:
            step(regs)
    return several
