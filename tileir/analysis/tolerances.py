"""What the uses of a value tolerate of the errors of an approximation.

    %p = exp(%x)
    %h = cast(src=%p, dtype=bf16)         // rounds them away
    %t = reduce_sum(src=%p, axes=(1))     // its bound has room for them
    %q = mul(lhs=%p, rhs=%f)              // if the uses of %q tolerate them

Tolerated are relative errors of 64 * eps (eps = 2**-23, that of float32): a 32nd of what rounding to float16 may be
wrong by, a 256th for bfloat16, and as much as the order of 64 summands makes a sum uncertain. And where it is asked
for, zero in place of magnitudes below 2**-126, an absolute error. That is nothing beside the least float16 (2**-24);
beside subnormal bfloat16 it is the flushing that the hardware's own functions do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, log2, prod
from typing import Any, NamedTuple

from tilewright.tileir.analysis.float_ranges import float_range
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.carried import carried
from tilewright.tileir.core import Block, Op, Value
from tilewright.tileir.enums import RoundingMode
from tilewright.tileir.ops import arith, control, shape
from tilewright.tileir.ops import math as functions
from tilewright.tileir.ops.convert import Cast
from tilewright.tileir.ops.reduce import ReduceSum
from tilewright.tileir.rules import RuleTable

SUMMANDS = 64
"""So many elements a sum must have: then its bound, n * eps, is that of exact elements to within a factor of two."""
FACTOR = 2.0**24
"""The greatest factor of an absolute error of 2**-126, which it takes to 2**-102 at most."""
POWER = 4
"""How often a relative error may be doubled, all in all: 256 * eps is an eighth of float16's."""
MANTISSA = 10
"""Bits behind the point: results of so many hide a relative error of 64 * eps."""


class _Errors(NamedTuple):
    """A value with errors: whether magnitudes below 2**-126 are zero (an absolute error), and whether it has been a
    factor, so that its relative error would add up with each iteration that multiplies what it carries. Beside those
    that an `uncertain` value has anyway they are small, whatever it is added to."""

    value: Value
    flushed: bool
    factor: bool
    uncertain: bool
    gain: float = 1.0  # of the absolute error
    power: int = 1  # of the relative error


class Use(NamedTuple):
    """What one use makes of errors: `reason`, why it tolerates them, or `passed`, the values that have them, too."""

    reason: str = ""
    passed: tuple[_Errors, ...] = ()


_Rule = Callable[[Any, _Errors, Unit], "Use | None"]
_RULES: RuleTable[_Rule] = RuleTable("tolerance of errors")


def tolerated(
    value: Value, flushed: bool, unit: Unit, uncertain: bool = False, power: int = 1,
) -> list[str] | None:
    """Why all uses of a float32 value tolerate the errors, `power` times the relative ones; None: one does not."""
    reasons: dict[str, None] = {}
    work, seen = [_Errors(value, flushed, False, uncertain, power=power)], set[_Errors]()
    while work:
        errors = work.pop()
        if errors in seen:
            continue
        seen.add(errors)
        for op in unit.uses.get(errors.value, ()):
            rule = _RULES.of(op)
            use = None if rule is None else rule(op, errors, unit)
            if use is None:
                return None
            work += use.passed
            if use.reason:
                reasons[use.reason] = None
    return list(reasons)


@_RULES.register(
    shape.Broadcast, shape.Reshape, shape.Permute, shape.Extract, shape.Cat, arith.Select, functions.Neg, functions.Abs)
def _passes(op: Op, errors: _Errors, unit: Unit) -> Use:
    return Use(passed=(errors._replace(value=op.results[0]),))


@_RULES.register(Cast)
def _rounded(op: Cast, errors: _Errors, unit: Unit) -> Use | None:
    """A direction makes much of little: of zero and the least number above it."""
    hides = op.dtype.is_float and op.dtype.mantissa <= MANTISSA and op.rounding is RoundingMode.RN
    return Use(f"rounded to {op.dtype}") if hides else None


@_RULES.register(ReduceSum)
def _summed(op: ReduceSum, errors: _Errors, unit: Unit) -> Use | None:
    if op.rounding is not RoundingMode.RN:
        return None
    if prod(op.src.type.shape[axis] for axis in op.axes) >= SUMMANDS:
        return Use("summed")
    return _passes(op, errors, unit) if float_range(op.src).positive else None


@_RULES.register(arith.Add)
def _added(op: arith.Add, errors: _Errors, unit: Unit) -> Use | None:
    """Without a difference there is no cancellation. Beside a number that is not small nothing is lost by flushing."""
    if errors.uncertain:
        return _passes(op, errors, unit)
    ranges = [float_range(v) for v in op.operands]
    if not all(r.positive for r in ranges):
        return None
    large = max(r.low for r in ranges) >= 1 / FACTOR
    return Use(passed=(errors._replace(value=op.result, flushed=errors.flushed and not large),))


@_RULES.register(arith.Sub, arith.Fma)
def _subtracted(op: arith.Sub | arith.Fma, errors: _Errors, unit: Unit) -> Use | None:
    return _passes(op, errors, unit) if errors.uncertain else None


@_RULES.register(arith.Mul)
def _multiplied(op: arith.Mul, errors: _Errors, unit: Unit) -> Use | None:
    other = op.rhs if op.lhs is errors.value else op.lhs
    gain = errors.gain * max(1.0, float_range(other).magnitude) if errors.flushed else 1.0
    power = 2 * errors.power if op.lhs is op.rhs else errors.power
    if gain > FACTOR or power > POWER:
        return None
    return Use(passed=(errors._replace(value=op.result, factor=True, gain=_whole(gain), power=power),))


def _whole(gain: float) -> float:
    """The next of few gains: as many as there are products of factors, a value would be looked at that often."""
    return float(2.0 ** (ceil(8 * log2(gain)) / 8))


@_RULES.register(arith.Div)
def _divided(op: arith.Div, errors: _Errors, unit: Unit) -> Use | None:
    """Zero divides to infinity."""
    if errors.flushed and op.rhs is errors.value:
        return None
    low = float_range(op.rhs).low if errors.flushed else 1.0
    gain = errors.gain / min(1.0, low) if low > 0 else FACTOR * 2
    return None if gain > FACTOR else Use(passed=(errors._replace(value=op.result, factor=True, gain=_whole(gain)),))


@_RULES.register(control.Yield, control.Condition)
def _handed_on(op: Op, errors: _Errors, unit: Unit) -> Use | None:
    """A function that combines elements may do with what it yields whatever it likes."""
    around = unit.parents[unit.homes[op]]
    grows = around.repeats and errors.factor
    return None if grows or not carried(around) else _carried(around, errors, unit)


@_RULES.register(control.For, control.While, control.If)
def _carried(op: Op, errors: _Errors, unit: Unit) -> Use:
    """Results of an op, and parameters of its bodies, that are the value."""
    groups: Sequence[tuple[Value, ...]] = [group for group in carried(op) if errors.value in group]
    given = {v: None for group in groups for v in group if v.owner is op or isinstance(v.owner, Block)}
    return Use(passed=tuple(errors._replace(value=v) for v in given if v.owner is op or v.owner in op.blocks))
