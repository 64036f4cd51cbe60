"""Between which numbers the elements of a float tile lie, as far as the ops that compute it show.

    %e = exp(x - max(x))          // 0 to 1
    %s = reduce_sum(%e)           // 1 to infinity: the element of the maximum is 1
    %r = 1.0 / %s                 // 0 to 1

A NaN lies in every range: what is computed from one is one. Roundings keep ranges whose ends are no roundings
themselves; that is why ends are only carried through ops that round to nearest.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from tilewright.tileir.core import Op, Value
from tilewright.tileir.enums import RoundingMode
from tilewright.tileir.ops import arith, shape
from tilewright.tileir.ops import math as functions
from tilewright.tileir.ops.reduce import ReduceMax, ReduceSum
from tilewright.tileir.rules import RuleTable


class FloatRange(NamedTuple):
    """The least and the greatest number that an element can be."""

    low: float = -math.inf
    high: float = math.inf

    @property
    def positive(self) -> bool:
        """Whether no element is below zero."""
        return self.low >= 0

    @property
    def magnitude(self) -> float:
        """The greatest absolute value."""
        return max(abs(self.low), abs(self.high))


ANY = FloatRange()
NOT_NEGATIVE = FloatRange(0.0)

_Known = Callable[[Value], FloatRange]
_RULES: RuleTable[Callable[[Any, _Known], FloatRange]] = RuleTable("range of floats")


def float_range(value: Value) -> FloatRange:
    """The range of a float tile; ANY for what comes from memory, and for what loops and branches carry."""
    found: dict[Value, FloatRange] = {}
    work = [value]
    while work:  # no recursion: chains are long, and share what they are computed from
        op = work[-1].op
        rule = None if op is None else _RULES.of(op)
        missing = [] if rule is None or op is None else [v for v in op.operands if v not in found]
        if missing and work[-1] not in found:
            work += missing
            continue
        found.setdefault(work[-1], ANY if rule is None else rule(op, found.__getitem__))
        work.pop()
    return found[value]


@_RULES.register(arith.Constant)
def _constant(op: arith.Constant, of: _Known) -> FloatRange:
    return FloatRange(op.value, op.value) if op.value == op.value else ANY


@_RULES.register(shape.Broadcast, shape.Reshape, shape.Permute, shape.Extract, ReduceMax, functions.StopGradient)
def _elements(op: Any, of: _Known) -> FloatRange:
    return of(op.src)


@_RULES.register(arith.Select, shape.Cat)
def _either(op: Any, of: _Known) -> FloatRange:
    one, other = of(op.lhs), of(op.rhs)
    return FloatRange(min(one.low, other.low), max(one.high, other.high))


@_RULES.register(functions.Exp, functions.Exp2)
def _power(op: functions.Exp | functions.Exp2, of: _Known) -> FloatRange:
    return FloatRange(0.0, 1.0) if of(op.src).high <= 0 else NOT_NEGATIVE


@_RULES.register(functions.Neg)
def _negated(op: functions.Neg, of: _Known) -> FloatRange:
    low, high = of(op.src)
    return FloatRange(-high, -low)


@_RULES.register(functions.Abs)
def _magnitude(op: functions.Abs, of: _Known) -> FloatRange:
    return FloatRange(0.0, of(op.src).magnitude)


@_RULES.register(functions.Sigmoid)
def _share(op: functions.Sigmoid, of: _Known) -> FloatRange:
    return FloatRange(0.0, 1.0)


@_RULES.register(arith.Add)
def _sum(op: arith.Add, of: _Known) -> FloatRange:
    one, other = of(op.lhs), of(op.rhs)
    rounded_up = 1.0 + 2.0**-op.result.type.dtype.mantissa
    high = (one.high + other.high) * rounded_up if one.high + other.high >= 0 else math.inf
    return FloatRange(max(one.low, other.low) if one.positive and other.positive else -math.inf, high)


@_RULES.register(arith.Sub)
def _difference(op: arith.Sub, of: _Known) -> FloatRange:
    return FloatRange(high=0.0) if greatest_of(op.lhs, op.rhs) else ANY


@_RULES.register(arith.Mul)
def _product(op: arith.Mul, of: _Known) -> FloatRange:
    one, other = of(op.lhs), of(op.rhs)
    if op.lhs is op.rhs or (one.positive and other.positive):
        return FloatRange(0.0, 1.0) if max(one.magnitude, other.magnitude) <= 1 else NOT_NEGATIVE
    return ANY


@_RULES.register(arith.Div)
def _quotient(op: arith.Div, of: _Known) -> FloatRange:
    one, other = of(op.lhs), of(op.rhs)
    if not (one.positive and other.positive) or op.rounding is RoundingMode.APPROX:
        return ANY
    return FloatRange(0.0, 1.0) if one.high <= 1 <= other.low else NOT_NEGATIVE


@_RULES.register(ReduceSum)
def _sum_of_elements(op: ReduceSum, of: _Known) -> FloatRange:
    """Of powers of which one is 1, as its exponent is the difference of the greatest number and itself, at least 1."""
    top = _subtracted_from(op.src)
    if top is not None and set(top.axes) <= set(op.axes):
        return FloatRange(1.0)
    return NOT_NEGATIVE if of(op.src).positive else ANY


def _subtracted_from(powers: Value) -> ReduceMax | None:
    """The maximum of the exponents' numbers, which is taken off each of them. Where powers are masked with zeros, the
    numbers are masked with minus infinity (of a row that is masked whole all powers are zero, and its sum)."""
    masked = powers.op if isinstance(powers.op, arith.Select) and _is(powers.op.rhs, 0.0) else None
    power = powers.op if masked is None else masked.lhs.op
    if not isinstance(power, (functions.Exp, functions.Exp2)) or not isinstance(power.src.op, arith.Sub):
        return None
    numbers, limit = power.src.op.operands
    if masked is not None:
        kept = numbers.op
        if not isinstance(kept, arith.Select) or kept.cond is not masked.cond or not _is(kept.rhs, -math.inf):
            return None
    return greatest_of(numbers, limit)


def _is(value: Value, number: float) -> bool:
    op: Op | None = value.op
    while isinstance(op, (shape.Broadcast, shape.Reshape)):
        op = op.src.op
    return isinstance(op, arith.Constant) and op.value == number


def greatest_of(value: Value, limit: Value) -> ReduceMax | None:
    """The maximum of the elements of a value that a limit of its shape is, along axes where the limit repeats."""
    op: Op | None = limit.op
    while isinstance(op, (shape.Broadcast, shape.Reshape)):
        op = op.src.op
    if not isinstance(op, ReduceMax) or op.src is not value:
        return None
    kept = tuple(1 if axis in op.axes else n for axis, n in enumerate(value.type.shape))
    return op if spreads(limit, op.result, kept) else None


def spreads(value: Value, reduced: Value, kept: tuple[int, ...]) -> bool:
    """Whether a value is what was reduced, put back with axes of length 1 and repeated along them."""
    op = value.op
    if value is reduced:
        return value.type.shape == kept or not value.type.shape
    if value.type.shape == kept and isinstance(op, shape.Reshape):
        return op.src is reduced
    return isinstance(op, shape.Broadcast) and (op.src.type.shape == kept or not op.src.type.shape) and (
        spreads(op.src, reduced, kept))
