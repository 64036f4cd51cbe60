"""Integer and bool values of one block as formulas.

    %at = add(lhs=broadcast(mul(%bid, 256)), rhs=iota)    at element (e,)    ->    256 * b.bid[0] + e

A value is asked for at an element, whose coordinates are formulas too. What no rule knows (loaded numbers, reductions,
values that a loop carries) is a symbol of its own within the bounds that the range analysis has for it: a proof holds
whatever it is; a counterexample that needs it is none, since it may never be so.
"""

from __future__ import annotations

from typing import Any

from tilewright.interp.proving.solver import Formula, z3
from tilewright.interp.proving.world import AXES, World
from tilewright.tileir.core import Op, Value
from tilewright.tileir.ops import arith, control
from tilewright.tileir.rules import RuleTable
from tilewright.tileir.types import ArrayType

Coordinates = tuple[Formula, ...]
RULES: RuleTable[Any] = RuleTable("formula")
"""Rule(terms, op, coordinates) gives the formula of the op's result at an element, or None if it has none."""


class Terms:
    """The values of one block, which is called `who` in formulas."""

    def __init__(self, world: World, who: str) -> None:
        self.world = world
        self.who = who
        self.block = [z3().Int(f"{who}[{axis}]") for axis in range(AXES)]
        self.opaque: dict[Value, None] = {}  # in the order in which they were met
        self.loose = False  # whether a loop's turns were taken from its bounds alone: it may never get there
        self._known: dict[Any, Formula] = {}
        self._limits: list[Formula] = []
        for number, size in zip(self.block, world.grid, strict=True):
            self._limits += [number >= 0, number < size]
        self._fresh = 0

    @property
    def limits(self) -> list[Formula]:
        return list(self._limits)

    def require(self, *formulas: Formula) -> None:
        self._limits += formulas

    def fresh(self, hint: str, low: Any = None, high: Any = None) -> Formula:
        """A new integer, in low..high if given."""
        self._fresh += 1
        symbol = z3().Int(f"{self.who}.{hint}.{self._fresh}")
        self._limits += [limit for limit in (None if low is None else symbol >= low,
                                             None if high is None else symbol <= high) if limit is not None]
        return symbol

    def at(self, value: Value, coordinates: Coordinates = ()) -> Formula:
        """A value's element: an integer, or a bool for masks."""
        key = value, tuple(c if isinstance(c, int) else c.get_id() for c in coordinates)
        if key not in self._known:
            self._known[key] = self._make(value, coordinates)
        return self._known[key]

    def _make(self, value: Value, coordinates: Coordinates) -> Formula:
        op = value.op
        if op is None:
            made = self._param(value)
        else:
            rule = RULES.of(op)
            made = self._result(op, value) if op.blocks else None if rule is None else rule(self, op, coordinates)
        return self._unknown(value) if made is None else made

    def _unknown(self, value: Value) -> Formula:
        self.opaque[value] = None
        dtype = value.type.dtype
        if dtype.is_bool:
            self._fresh += 1
            return z3().Bool(f"{self.who}.{value.hint or 'value'}.{self._fresh}")
        fact = self.world.facts[value]
        return self.fresh(value.hint or "value", fact.low, fact.high)

    def _param(self, value: Value) -> Formula | None:
        if value in self.world.function.params:
            return self.world.scalar(value)
        op, block, position = self.world.bodies[value]
        if not isinstance(op, control.For):
            return None
        lower, step, turn = self.at(op.lower), self.at(op.step), self.turn(op)
        if position == 0:
            return self._index(lower, turn, step)
        grows = self._growth(op, value, block.terminator.operands[position - 1])
        return None if grows is None else self.at(op.init[position - 1]) + self.world.product(turn, grows)

    def _index(self, lower: Formula, turn: Formula, step: Formula) -> Formula:
        """A loop's variable. Blocks that walk over tiles start below the step: each has a remainder of its own."""
        index = lower + self.world.product(turn, step)
        if not z3().is_int_value(step):
            own = z3().And(lower >= 0, lower < step)
            self.require(z3().Implies(own, self._divided(index, step, turn, lower)))
        return index

    def _divided(self, lhs: Formula, rhs: Formula, quotient: Formula, rest: Formula) -> Formula:
        """Equal numbers divided by equal ones give equal results: all that z3 needs to know of many divisions."""
        integer = z3().IntSort()
        by = [z3().Function(name, integer, integer, integer)(lhs, rhs) for name in ("quotient", "rest")]
        return z3().And(by[0] == quotient, by[1] == rest)

    def _growth(self, op: control.For, carried: Value, handed: Value) -> Formula | None:
        """By how much an iteration changes a carried value; None if it is not always the same."""
        if handed is carried:
            return z3().IntVal(0)
        made = handed.op
        if not isinstance(made, arith.Add) or carried not in (made.lhs, made.rhs):
            return None
        other = made.rhs if made.lhs is carried else made.lhs
        return self.at(other) if self._is_fixed(other, op) else None

    def _is_fixed(self, value: Value, loop: Op) -> bool:
        """Whether a value is the same in every iteration of a loop."""
        if value in self.world.function.params:
            return True
        op = value.op
        if op is None:
            around = self.world.bodies[value][0]
            return around is not loop and not self._is_in(around, loop)
        if not self._is_in(op, loop):
            return True
        return not op.blocks and RULES.of(op) is not None and all(
            self._is_fixed(v, loop) for v in op.operands if not isinstance(v.type, ArrayType))

    def _is_in(self, op: Op, loop: Op) -> bool:
        return any(around is loop for around, _ in self.world.enclosing[op])

    def turn(self, loop: Op) -> Formula:
        """How many iterations came before this one."""
        key = loop, "turn"
        if key not in self._known:
            self._known[key] = self.fresh("turn", low=0)
        return self._known[key]

    def _result(self, op: Op, value: Value) -> Formula | None:
        """What a branch or a loop hands back."""
        position = op.results.index(value)
        if isinstance(op, control.If) and not value.type.shape:
            then, other = (self.at(block.terminator.operands[position]) for block in op.blocks)
            return z3().If(self.at(op.cond), then, other)
        if isinstance(op, control.For):
            body = op.blocks[0]
            if body.terminator.operands[position] is body.params[position + 1]:
                return self.at(op.init[position])
        return None

    def reaches(self, op: Op) -> list[Formula]:
        """What holds where a block executes an op: conditions of branches, bounds of loops."""
        out = []
        for around, block in self.world.enclosing[op]:
            if isinstance(around, control.If):
                cond = self.at(around.cond)
                out.append(cond if block is around.then else z3().Not(cond))
            elif isinstance(around, control.For):
                out += [self.at(around.step) >= 1, self.at(block.params[0]) < self.at(around.upper)]
            else:
                self.loose = True
        return out

    def quotient(self, lhs: Formula, rhs: Formula) -> tuple[Formula, Formula]:
        """Floor division and modulo. z3 decides division by numbers; by anything else there are two new integers.
        What is divided by zero has no defined value: nothing is claimed of launches that do."""
        solver = z3()
        if solver.is_int_value(rhs) and rhs.as_long() > 0:
            return lhs / rhs, lhs % rhs
        key = "quotient", lhs.get_id(), rhs.get_id()
        if key not in self._known:
            quotient, rest = self.fresh("quotient"), self.fresh("rest")
            self.require(lhs == self.world.product(quotient, rhs) + rest, self._divided(lhs, rhs, quotient, rest),
                         solver.Or(solver.And(rest >= 0, rest < rhs), solver.And(rest <= 0, rest > rhs)))
            self._known[key] = quotient, rest
        found: tuple[Formula, Formula] = self._known[key]
        return found
