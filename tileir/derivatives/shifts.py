"""Running maxima that outputs do not depend on: `top` of an online softmax, which is there to keep numbers in range.

A loop that carries m = max(m, f) is such a one where each output is the same whatever m is, as the degrees of all
values show (degrees.py). Then m may be its last value from the beginning, and is a constant to derivatives: the loop
only adds up, and its adjoints need nothing that it carries. The maximum of a tile is such a number, too, and then a
constant.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tilewright.tileir.carried import carried
from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.derivatives.activity import is_float, outside_values
from tilewright.tileir.derivatives.degrees import AFTER, BEFORE, NEUTRAL, Degree, Found, degree_of, joined
from tilewright.tileir.ops.arith import Max
from tilewright.tileir.ops.control import For, If
from tilewright.tileir.ops.reduce import ReduceMax, ReduceMin


@dataclass(frozen=True, slots=True)
class Shift:
    """A loop, the position among what it carries of a running maximum, and the op that gives the next one; or the
    maximum of a tile, without a loop. `degrees`, of all values, by which outputs do not depend on it."""

    loop: For | None
    position: int
    update: Op
    degrees: dict[Value, Found]

    @property
    def before(self) -> Value:
        """The maximum as an iteration finds it."""
        assert self.loop is not None
        return self.loop.loop.params[1 + self.position]

    @property
    def result(self) -> Value:
        """The maximum itself."""
        return self.update.result if self.loop is None else self.loop.results[self.position]


def extremes(function: Function, seeding: set[Op]) -> Iterator[Shift]:
    """The maxima and minima of tiles that outputs do not depend on."""
    for op in function.walk():
        if isinstance(op, (ReduceMax, ReduceMin)) and is_float(op.result):
            yield from _proved(Shift(None, 0, op, {}), function, seeding)


def _proved(shift: Shift, function: Function, seeding: set[Op]) -> Iterator[Shift]:
    try:
        _Walk(shift, seeding).over(function.body)
    except _Depends:
        return
    yield shift


def shifts(function: Function, seeding: set[Op]) -> Iterator[Shift]:
    """The running maxima that outputs, stored by the ops of `seeding`, do not depend on."""
    for loop in function.walk():
        if not isinstance(loop, For):
            continue
        ends = loop.loop.terminator.operands
        for position, (param, end) in enumerate(zip(loop.loop.params[1:], ends, strict=True)):
            update = end.op
            if not isinstance(update, Max) or update not in loop.loop.ops or not is_float(param):
                continue
            if param is not update.lhs and param is not update.rhs:
                continue
            yield from _proved(Shift(loop, position, update, {}), function, seeding)


class _Depends(Exception):
    """An output depends on the maximum."""


class _Walk:
    """One walk over a function: the degrees of its values for one running maximum."""

    def __init__(self, shift: Shift, seeding: set[Op]) -> None:
        self.shift = shift
        self.seeding = seeding

    def of(self, value: Value) -> Found:
        return self.shift.degrees.get(value, NEUTRAL)

    def over(self, block: Block) -> None:
        for op in block.ops:
            if op in self.seeding and not op.blocks and not all(map(self._plain, op.operands)):
                raise _Depends
            if op is self.shift.update:
                self.know(op.results, _one(AFTER))
            elif isinstance(op, For):
                self.loop(op)
            elif isinstance(op, If):
                self.branch(op)
            elif op.blocks:
                plain = all(map(self._plain, (*op.operands, *outside_values(*op.blocks))))
                self.know(op.results, NEUTRAL if plain else None)
            elif op.results:
                self.know(op.results, degree_of(op, self.of))

    def know(self, values: tuple[Value, ...], degree: Found) -> None:
        self.shift.degrees.update(dict.fromkeys(values, degree))

    def _plain(self, value: Value) -> bool:
        degree = self.of(value)
        return degree is not None and not degree.terms

    def branch(self, op: If) -> None:
        if not self._plain(op.cond):
            raise _Depends
        for side in op.blocks:
            self.over(side)
        for one, other, result in carried(op):
            self.know((result,), joined(self.of(one), self.of(other)))

    def loop(self, op: For) -> None:
        if not all(map(self._plain, (op.lower, op.upper, op.step))):
            raise _Depends
        own = op is self.shift.loop
        around = not own and any(inner is self.shift.update for inner in op.loop.walk())
        groups = carried(op)
        for init, param, *_ in groups:
            self.know((param,), self.of(init))
        for _ in range(4):
            if own:
                self.know((self.shift.before,), _one(BEFORE))
            self.over(op.loop)
            if not self._settle(groups, own, around):
                break
        else:
            self.know(tuple(param for _, param, *_ in groups), None)
        for k, (_, param, _, result) in enumerate(groups):
            given = self.of(param)
            self.know((result,), _one(AFTER) if own and k == self.shift.position else _moved(given, BEFORE, AFTER))

    def _settle(self, groups: list[tuple[Value, ...]], own: bool, around: bool) -> bool:
        """Let parameters be what the body hands back, too; says whether one has changed."""
        changed = False
        for k, (_, param, end, _) in enumerate(groups):
            if own and k == self.shift.position:
                continue
            given = self.of(end)
            if own:
                given = _moved(given, AFTER, BEFORE)
            elif around and given is not None and given.terms:
                given = None  # the maximum is another one in each iteration
            before = self.of(param)
            after = joined(before, given)
            changed = changed or not _equal(before, after)
            self.know((param,), after)
        return changed


def _one(when: int) -> Degree:
    return Degree((((when, ()), 1.0),))


def _equal(first: Found, second: Found) -> bool:
    if first is None or second is None:
        return first is second
    return first.loose is second.loose and first.same(second)


def _moved(degree: Found, old: int, new: int) -> Found:
    """The degree with what belongs to one m belonging to another; None where it has terms of both."""
    if degree is None or not degree.terms:
        return degree
    if any(when != old for (when, _), _ in degree.terms):
        return None
    return Degree(tuple(((new, names), count) for (_, names), count in degree.terms), degree.powers)
