"""The values of a function that a protocol may choose: unknown bounds of loops and unknown conditions, marked by hints
that survive in each role's copy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilewright.tileir.core import Function, Value, clone_function
from tilewright.tileir.ops import control
from tilewright.tileir.rewrite import constant_value


@dataclass(frozen=True, slots=True)
class Choices:
    """`trips` of the loops with unknown bounds, in program order (the last counts for further ones); `branches`: the
    outcomes of unknown conditions, each condition going round them on its own."""

    trips: tuple[int, ...]
    branches: tuple[bool, ...] = (True,)


@dataclass(slots=True)
class Marks:
    """The values of a function that are chosen, by the hint that marks them in each role's copy."""

    function: Function
    loops: int
    uppers: dict[str, tuple[Value, Value, int]]
    starts: dict[str, int]
    conditions: set[str]
    whiles: dict[str, int]


def marked(function: Function) -> Marks:
    """A copy of the function in which the values that may be chosen have unique hints."""
    copy = clone_function(function)
    marks = Marks(copy, 0, {}, {}, set(), {})
    for op in copy.walk():
        if isinstance(op, control.For):
            _mark_for(op, marks)
        elif isinstance(op, control.If):
            marks.conditions.add(_mark(op.cond, marks))
        elif isinstance(op, control.While):
            condition: Any = op.before.terminator
            marks.whiles[_mark(condition.cond, marks)] = marks.loops
            marks.loops += 1
    return marks


def _mark_for(op: control.For, marks: Marks) -> None:
    upper = op.upper
    if constant_value(upper) is None and upper.hint not in marks.uppers:
        marks.uppers[_mark(upper, marks)] = op.lower, op.step, marks.loops
        marks.loops += 1
    for value, start in ((op.lower, 0), (op.step, 1)):
        if constant_value(value) is None and value.hint not in marks.uppers:
            marks.starts[_mark(value, marks)] = start


def _mark(value: Value, marks: Marks) -> str:
    if not value.hint.startswith("!"):
        value.hint = f"!{len(marks.uppers) + len(marks.starts) + len(marks.conditions) + len(marks.whiles)}{value.hint}"
    return value.hint


def loops_of(function: Function) -> int:
    """How many trip counts a protocol of the function has."""
    return marked(function).loops
