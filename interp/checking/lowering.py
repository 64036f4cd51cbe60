"""Closures of a checked launch: before and after those of the interpreter stand steps that look at values.

Values that may be undefined have shadows (taint.py). A shadow is a value of its own, with a register, so that control
flow moves, splits and merges it as it does all values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tilewright.interp.checking import births, cancellation, progress
from tilewright.interp.checking.origins import Origins
from tilewright.interp.checking.promises import PROMISES
from tilewright.interp.checking.suspects import find_suspects
from tilewright.interp.checking.taint import TAINT, follows_shadows
from tilewright.interp.checking.uses import AFTER, BEFORE, watch
from tilewright.interp.chunk import Regs
from tilewright.interp.jit.groups import Group
from tilewright.interp.jit.lowering import LoopLowering
from tilewright.interp.lowering import Lowering, Runner, Step
from tilewright.tileir import dtypes as dt
from tilewright.tileir.analysis.effects import Dependences
from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.ops import control, fold
from tilewright.tileir.types import TileType

Whole = Callable[[Regs], tuple[int, ...] | None]


class CheckedLowering(Lowering):
    """Compiles a function for launches on a `CheckedMemory` with these checks."""

    def __init__(
        self, function: Function, axes: frozenset[int], copied: frozenset[int], dependences: Dependences,
        checks: frozenset[str], thin: Mapping[Value, int] | None = None,
    ) -> None:
        self.checks = checks
        self.origins = Origins(function)
        self.suspects: frozenset[Value] = frozenset()
        if "undefined" in checks:
            self.suspects = find_suspects(function, "memory" in checks)
        self._shadows: dict[Value, Value] = {}
        self._nothing = Value(TileType(dt.uint16, ()))
        self._loops = progress.loops(function) if "progress" in checks else {}
        self._spins: dict[Op, Value] = {}
        self._numerics = "numerics" in checks
        self.flow = cancellation.Flow(function) if "cancellation" in checks else None
        self.index_arithmetic = births.index_arithmetic(function) if self._numerics else frozenset()
        # Bodies of folds work on scalars that stand for arrays of any shape.
        self._folded = {op for outer in function.walk() if isinstance(outer, fold.Fold) for op in outer.combine.walk()}
        super().__init__(function, axes, copied, dependences, thin)

    @property
    def nothing(self) -> int:
        """A register that stays None: the shadow of all values that cannot be undefined."""
        return self.slot(self._nothing)

    def shadow(self, value: Value) -> int:
        """The register of a value's shadow."""
        return self.slot(self._shadow(value))

    def _shadow(self, value: Value) -> Value:
        if value not in self.suspects:
            return self._nothing
        found = self._shadows.get(value)
        if found is None:
            found = self._shadows[value] = self.temporary(TileType(dt.uint16, value.type.shape), self.varies(value))
        return found

    def full(self, value: Value) -> Whole:
        """The shape of a value's array, from the registers; None inside of folds, where any shape may stand."""
        shape, varies = tuple(value.type.shape), self.varies(value)
        if value.op in self._folded:
            return lambda regs: None
        return (lambda regs: (regs[0].count, *shape)) if varies else lambda regs: shape

    def joined(self, values: Sequence[Value], targets: Sequence[Value] | None = None) -> Sequence[Value]:
        pairs = zip(values, values if targets is None else targets, strict=True)
        return [*values, *(self._shadow(value) for value, target in pairs if target in self.suspects)]

    def follow(self, *blocks: Block) -> tuple[int, ...]:
        followed = set(super().follow(*blocks))
        shadows = [self.slot(s) for v, s in self._shadows.items() if self.slot(v) in followed]
        return (*followed, *shadows)

    def moves(self, sources: Any, targets: Any) -> Step:
        return super().moves(self.joined(sources, targets), self.joined(targets))

    def block(self, block: Block) -> Runner:
        run = super().block(block)
        end = block.terminator
        if not isinstance(end, control.Condition):
            return run
        steps: list[Step | None] = [
            run, watch(end.cond, end, self, "the condition of the loop", "how often it runs is undefined")]
        loop = self._loops.get(id(block))
        if loop is not None:
            steps.append(progress.iteration(loop, self, self._spin(loop)))
        return in_turn([step for step in steps if step is not None])

    def _spin(self, loop: Op) -> int:
        """The register that counts a loop's iterations."""
        found = self._spins.get(loop)
        if found is None:
            found = self._spins[loop] = Value(TileType(dt.int64, ()))
        return self.slot(found)

    def step(self, op: Op) -> Step:
        before: list[Step | None] = []
        after: list[Step | None] = []
        if isinstance(op, control.While) and self._loops:
            before.append(progress.start(self._spin(op)))
        promise = PROMISES.of(op) if "bounds" in self.checks else None
        if promise is not None:
            before.append(promise(op, self))
        if self.suspects:
            before += [rule(op, self) for rule in [BEFORE.of(op)] if rule is not None]
            after.append(self._taint(op))
        if self._numerics and op not in self._folded:
            after += [births.births(op, self), births.lossy(op, self), births.wraps(op, self),
                      births.narrow_totals(op, self)]
        if self.flow is not None and op not in self._folded:
            after += [cancellation.cancels(op, self), cancellation.rounds(op, self)]
        steps = [*before, super().step(op), *after]
        present = [step for step in steps if step is not None]
        return in_turn(present)

    def _taint(self, op: Op) -> Step | None:
        """The step that computes the shadows of an op's results."""
        found = AFTER.of(op)
        if found is not None:
            return found(op, self)
        rule = TAINT.of(op)
        if op.blocks or rule is None or not any(r in self.suspects for r in op.results):
            return None
        return rule(op, self)


class CheckedLoops(CheckedLowering, LoopLowering):
    """The same with loops of machine code where no operand may be undefined: then no result is, as all ops of loops
    divide by nothing but powers of two. Else the loop computes the values, and steps behind it the shadows, if they
    need no values for it. Not with the check of numerics, which looks at each result."""

    pieces = False

    def shadows(self, values: Iterable[Value]) -> tuple[int, ...]:
        return tuple(self.shadow(value) for value in values if value in self.suspects)

    def behind(self, group: Group) -> list[Step] | None:
        if not all(follows_shadows(op) for op in group.ops):
            return None
        return [step for step in map(self._taint, group.ops) if step is not None]


def in_turn(steps: list[Step]) -> Step:
    """One step that takes these, in this order."""
    first, *rest = steps
    if not rest:
        return first
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
