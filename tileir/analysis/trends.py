"""Whether integers grow or shrink with a block's coordinate along an axis of the grid.

    min((i + 1) * 128, n)       // grows with i = block_id(axis=0), as far as index arithmetic does not wrap
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

from tilewright.tileir.analysis.facts import Facts
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.core import Value
from tilewright.tileir.ops import arith, arrays, convert
from tilewright.tileir.ops.control import For
from tilewright.tileir.rules import RuleTable


class Trend(Enum):
    """How a number changes with the block's coordinate along an axis."""

    SAME = 0
    GROWS = 1
    SHRINKS = -1
    UNKNOWN = None

    def opposite(self) -> Trend:
        return {Trend.GROWS: Trend.SHRINKS, Trend.SHRINKS: Trend.GROWS}.get(self, self)

    def beside(self, other: Trend) -> Trend:
        """Of a sum, or of the least or the greatest of two."""
        if Trend.SAME in (self, other):
            return other if self is Trend.SAME else self
        return self if self is other else Trend.UNKNOWN


class Trends:
    """The trends of integers along one axis of the grid."""

    def __init__(self, axis: int, known: Facts) -> None:
        self.axis = axis
        self.known = known
        self.found: dict[Value, Trend] = {}

    def of(self, value: Value) -> Trend:
        if value not in self.found:
            self.found[value] = self._of(value)
        return self.found[value]

    def _of(self, value: Value) -> Trend:
        op: Any = value.op
        if op is None:  # a parameter of the kernel, or of a block
            return Trend.SAME
        rule = _RULES.of(op)
        if rule is not None:
            return rule(op, self)
        return Trend.SAME if all(self.of(v) is Trend.SAME for v in op.operands) and not op.blocks else Trend.UNKNOWN


def slope(unit: Unit, axis: int) -> Trend:
    """Whether blocks along an axis have more and more iterations, or fewer: of some loops, and of none the other. Loops
    with a step that is not constant walk over the grid, or over parts of an axis: their blocks have about as many."""
    trends = Trends(axis, unit.facts)
    found = {trends.of(loop.upper).beside(trends.of(loop.lower).opposite()) for loop in unit.function.walk()
             if isinstance(loop, For) and isinstance(loop.step.op, arith.Constant) and trends.known[loop.step].low > 0}
    ways = found & {Trend.GROWS, Trend.SHRINKS}
    return ways.pop() if len(ways) == 1 else Trend.SAME


_RULES: RuleTable[Callable[[Any, Trends], Trend]] = RuleTable("trend along the grid")


@_RULES.register(arrays.BlockId)
def _block_id(op: arrays.BlockId, trends: Trends) -> Trend:
    return Trend.GROWS if op.axis == trends.axis else Trend.SAME


@_RULES.register(arith.Add, arith.Min, arith.Max)
def _together(op: Any, trends: Trends) -> Trend:
    return trends.of(op.lhs).beside(trends.of(op.rhs))


@_RULES.register(arith.Sub)
def _sub(op: arith.Sub, trends: Trends) -> Trend:
    return trends.of(op.lhs).beside(trends.of(op.rhs).opposite())


@_RULES.register(arith.Mul)
def _mul(op: arith.Mul, trends: Trends) -> Trend:
    for one, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        if trends.of(other) is Trend.SAME and trends.known[other].low >= 0:
            return trends.of(one)
    return Trend.SAME if trends.of(op.lhs) is trends.of(op.rhs) is Trend.SAME else Trend.UNKNOWN


@_RULES.register(arith.FloorDiv, arith.CeilDiv)
def _quotient(op: Any, trends: Trends) -> Trend:
    if trends.of(op.rhs) is Trend.SAME and trends.known[op.rhs].low > 0:
        return trends.of(op.lhs)
    return Trend.SAME if trends.of(op.lhs) is trends.of(op.rhs) is Trend.SAME else Trend.UNKNOWN


@_RULES.register(convert.Cast, arrays.AssumeDivisible)
def _same(op: Any, trends: Trends) -> Trend:
    return trends.of(op.src)
