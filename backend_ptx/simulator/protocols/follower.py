"""A walk through one role's function, op by op: scalar integers are evaluated as constant folding does, other ops have
rules (rules.py) that say what the role does to mbarriers and slots."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tilewright.backend_ptx.simulator.protocols.marks import Choices, Marks
from tilewright.backend_ptx.simulator.protocols.program import Act, Action, Place
from tilewright.tileir.analysis.evaluate import evaluate
from tilewright.tileir.core import Block, Op, Value
from tilewright.tileir.engines import THREADS
from tilewright.tileir.ops import arith
from tilewright.tileir.rewrite import constant_value
from tilewright.tileir.rules import RuleTable
from tilewright.tileir.types import TileType


class UnfollowedError(Exception):
    """The protocol depends on a value that is only known when the kernel runs, or on an op that has no rule here."""


class Follower:
    """Follows one role's function; `actions` is what its threads do, `slots` where buffers lie."""

    def __init__(self, marks: Marks, choices: Choices, role: str, team: int = 0, teams: int = 1) -> None:
        self.marks = marks
        self.choices = choices
        self.role = role
        self.team, self.teams = team, teams
        self.block: int | None = None  # of the launch, where CTAs loop over them
        self.actions: list[Action] = []
        self.blocks: list[int | None] = []  # by action
        self.extents: dict[Place, tuple[int, int]] = {}
        self.counts: dict[str, int] = {}
        self.numbers: dict[Value, Any] = {}
        self.buffers: dict[Value, Place] = {}
        self._asked: dict[str, int] = {}

    def emit(self, kind: Act, op: Op, *places: Place, a: int = 0, ctas: int = 1) -> None:
        self.actions.append(Action(kind, places, a, ctas, op.span.line))
        self.blocks.append(self.block)

    def known(self, value: Value, what: str, op: Op) -> int:
        """A scalar that the protocol needs."""
        found = self.number(value)
        if found is None:
            raise UnfollowedError(f"{what} of {op.opcode} in line {op.span.line} is not known")
        return int(found)

    def number(self, value: Value) -> Any:
        """The scalar, None where it is unknown."""
        return self.numbers.get(value)

    def place(self, buffer: Value, slot: Value | None, op: Op, ahead: int = 0) -> Place:
        """The slot of a ring (or the slot of which the buffer is a view)."""
        name, number = self.buffers[buffer]
        if slot is None:
            return name, number
        return name, (self.known(slot, "the slot", op) + ahead) % buffer.type.copies

    def run(self, block: Block) -> None:
        for op in block.ops:
            rule = RULES.of(op)
            if rule is not None:
                rule(self, op)
            elif is_asynchronous(op):
                raise UnfollowedError(
                    f"{op.opcode} in line {op.span.line} starts, awaits or orders asynchronous accesses, and protocols "
                    "have no rule for it: register one in RULES")
            elif not op.terminator:
                self.scalar(op)

    def scalar(self, op: Op) -> None:
        """Evaluate an op of scalars."""
        for result in op.results:
            if isinstance(result.type, TileType) and not result.type.shape:
                self.numbers[result] = self._chosen(result, self._evaluated(op))

    def _evaluated(self, op: Op) -> Any:
        operands = [self.number(v) for v in op.operands]
        if isinstance(op, arith.Select) and operands[0] is not None:
            return operands[1] if operands[0] else operands[2]
        constant = constant_value(op.results[0])
        if constant is not None:
            return constant
        if None in operands or len(op.results) != 1 or not operands:
            return None
        return evaluate(op, operands)

    def _chosen(self, value: Value, found: Any) -> Any:
        """The value of a marked one, chosen where it is unknown."""
        if found is not None or not value.hint.startswith("!"):
            return found
        return self._bound(value.hint)

    def _bound(self, hint: str) -> Any:
        if hint in self.marks.uppers:
            lower, step, number = self.marks.uppers[hint]
            return self._start(lower) + self._start(step) * self._trips(number)
        if hint in self.marks.starts:
            return self.marks.starts[hint]
        if hint in self.marks.conditions:
            return self._outcome(hint)
        return None

    def _start(self, value: Value) -> int:
        """A lower bound or step, in the marked function, whose values stand by hint in each role's."""
        constant = constant_value(value)
        if constant is not None:
            return int(constant)
        return next((int(n) for v, n in self.numbers.items() if v.hint == value.hint and n is not None),
                    self._bound(value.hint) or 0)

    def _trips(self, number: int) -> int:
        trips = self.choices.trips
        return trips[min(number, len(trips) - 1)]

    def _outcome(self, hint: str) -> bool:
        count = self._asked[hint] = self._asked.get(hint, 0) + 1
        return self.choices.branches[(count - 1) % len(self.choices.branches)]

    def pass_on(self, targets: Sequence[Value], sources: Sequence[Value]) -> None:
        values = [self.numbers.get(v) for v in sources]
        buffers = [self.buffers.get(v) for v in sources]
        for target, value, buffer in zip(targets, values, buffers, strict=True):
            self.numbers[target] = value
            if buffer is not None:
                self.buffers[target] = buffer

    def while_goes_on(self, cond: Value, done: int) -> bool:
        found = self.number(cond)
        if found is not None and cond.hint not in self.marks.whiles:
            return bool(found)
        number = self.marks.whiles.get(cond.hint)
        return bool(found) if number is None else done < self._trips(number)


def is_asynchronous(op: Op) -> bool:
    """Does an engine other than the threads themselves start, complete or see anything by this op?"""
    effects = op.effects()
    return bool(effects.completes or effects.fence or any(start.engine is not THREADS for start in effects.starts))


Rule = Callable[[Follower, Any], None]
RULES: RuleTable[Rule] = RuleTable("rule of protocols")
