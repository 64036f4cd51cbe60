"""How values change with a number that is only there to keep others within range: the running maximum of a softmax.

Let some value m of the kernel be larger by a number d. What is computed from m then has d times a factor added to it,
or is multiplied by e to the power of d times a factor, or does not change at all. These are its terms. A factor is a
number times scalars of the kernel, and belongs to m as an iteration finds it (BEFORE) or as it leaves it (AFTER).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isclose, log
from typing import Any, Final

from tilewright.tileir.core import Op, Value
from tilewright.tileir.ops import arith, convert, math, reduce, shape
from tilewright.tileir.ops.matmul import Mma
from tilewright.tileir.rules import RuleTable

BEFORE, AFTER = 0, 1
Factor = tuple[int, tuple[int, ...]]
"""Which m, and the scalars (their identities, sorted) that its number is multiplied by."""


@dataclass(frozen=True, eq=False)
class Degree:
    """`powers`: whether the value is multiplied, by e to the power of the terms; else they are added to it. `loose`: a
    constant that stays itself whatever is done to it, zero when it is multiplied and -inf when something is added."""

    terms: tuple[tuple[Factor, float], ...] = ()
    powers: bool = False
    loose: bool = False

    @property
    def neutral(self) -> bool:
        return not self.terms and not self.loose

    def same(self, other: Degree) -> bool:
        mine, theirs = dict(self.terms), dict(other.terms)
        return (self.powers is other.powers or not mine) and mine.keys() == theirs.keys() and all(
            isclose(mine[key], theirs[key], rel_tol=1e-5) for key in mine)

    def times(self, number: float, scalars: tuple[int, ...] = ()) -> Degree:
        """The terms times a number, and times scalars."""
        made = {(when, tuple(sorted((*names, *scalars)))): number * count for (when, names), count in self.terms}
        return Degree(tuple(made.items()), self.powers)


NEUTRAL: Final = Degree()
ZERO: Final = Degree(powers=True, loose=True)
LOWEST: Final = Degree(loose=True)
Found = Degree | None
"""None: it changes in some other way."""


def joined(first: Found, second: Found) -> Found:
    """What is true of both."""
    if first is None or second is None:
        return None
    for one, other in ((first, second), (second, first)):
        if one.loose and (other.loose or not other.terms or one.powers is other.powers):
            return other if not other.loose or one.powers is other.powers else NEUTRAL
    return first if not first.loose and not second.loose and first.same(second) else None


def summed(first: Found, second: Found) -> Found:
    """Of the terms of two degrees of one kind their sums."""
    if first is None or second is None:
        return None
    made = dict(first.terms)
    for key, count in second.terms:
        made[key] = made.get(key, 0.0) + count
    left = {key: count for key, count in made.items() if abs(count) > 1e-6}
    return Degree(tuple(left.items()), bool(left) and (first.powers or second.powers))


def plus(first: Found, second: Found) -> Found:
    """Of a sum."""
    if first is None or second is None:
        return None
    for one, other in ((first, second), (second, first)):
        if one.loose:
            return other if one.powers else (one if not other.powers else joined(one, other))
    if first.powers or second.powers:
        return joined(first, second)
    return summed(first, second)


def negative(degree: Found) -> Found:
    if degree is None or (degree.loose and not degree.powers):
        return None
    return degree if degree.powers else degree.times(-1.0)


def product(first: Found, second: Found, values: Sequence[Value]) -> Found:
    if first is None or second is None:
        return None
    for one, other, factor in ((first, second, values[1]), (second, first, values[0])):
        if one.loose:
            return ZERO if one.powers else (NEUTRAL if not other.terms else None)
        if one.terms and not one.powers:
            return _scaled(one, factor) if other.neutral else None
    return summed(first, second)


def _scaled(degree: Degree, factor: Value) -> Found:
    """What is added, times a factor: a constant or a scalar."""
    while isinstance(factor.op, (shape.Broadcast, shape.Reshape, convert.Cast)):
        factor = factor.op.src
    if isinstance(factor.op, arith.Constant):
        return degree.times(float(factor.op.value))
    return degree.times(1.0, (id(factor),)) if not factor.type.shape else None


def quotient(first: Found, second: Found, by: Value) -> Found:
    if first is None or second is None or second.loose or (second.terms and not second.powers):
        return None
    if first.loose:
        return ZERO if first.powers else NEUTRAL if second.neutral else None
    if first.terms and not first.powers:
        number = _number(by) if second.neutral else None
        return None if number is None else first.times(1.0 / number)
    return summed(first, second.times(-1.0))


def power(degree: Found, base: float) -> Found:
    """Of base ** x."""
    if degree is None or degree.loose:
        return None if degree is None else NEUTRAL if degree.powers else ZERO
    if degree.terms and degree.powers:
        return None
    made = degree.times(log(base))
    return Degree(made.terms, bool(made.terms))


def logarithm(degree: Found, base: float) -> Found:
    if degree is None or degree.loose:
        return None if degree is None else LOWEST if degree.powers else NEUTRAL
    if degree.terms and not degree.powers:
        return None
    return Degree(degree.times(1.0 / log(base)).terms)


# ---- ops

Rule = Callable[[Any, Callable[[Value], Found]], Found]
DEGREES: RuleTable[Rule] = RuleTable("degree")


def degree_of(op: Op, of: Callable[[Value], Found]) -> Found:
    """The degree of the results of an op without bodies: neutral where all operands are, unless a rule knows more."""
    rule = DEGREES.of(op)
    if rule is not None:
        return rule(op, of)
    return NEUTRAL if all(_plain(of(value)) for value in op.operands) else None


def _plain(degree: Found) -> bool:
    return degree is not None and not degree.terms


@DEGREES.register(arith.Constant)
def _constant(op: arith.Constant, of: Any) -> Found:
    return ZERO if op.value == 0 else LOWEST if op.value == float("-inf") else NEUTRAL


@DEGREES.register(arith.Fma)
def _fma(op: arith.Fma, of: Any) -> Found:
    return plus(product(of(op.a), of(op.b), (op.a, op.b)), of(op.c))


@DEGREES.register(arith.MinMax)
def _extreme(op: arith.MinMax, of: Any) -> Found:
    return joined(of(op.lhs), of(op.rhs))


@DEGREES.register(arith.Compare)
def _compare(op: arith.Compare, of: Any) -> Found:
    """What is infinite stays so, and what is zero."""
    degrees = [of(op.lhs), of(op.rhs)]
    if None in degrees:
        return None
    for one, other in (degrees, degrees[::-1]):
        if one.loose and (one.powers is other.powers or not other.terms):
            return NEUTRAL
    return NEUTRAL if all(map(_plain, degrees)) else None


@DEGREES.register(arith.Select)
def _select(op: arith.Select, of: Any) -> Found:
    if not _plain(of(op.cond)):
        return None
    guarded = op.rhs if _is_lowest(op.cond, op.rhs) and _number(op.lhs) == 0 else None
    return joined(of(op.lhs), of(op.rhs)) if guarded is None else of(guarded)


def _is_lowest(cond: Value, value: Value) -> bool:
    """Whether a condition asks if a value is -inf: where it is, nothing has been added up yet."""
    op = cond.op
    return isinstance(op, arith.Eq) and op.lhs is value and _number(op.rhs) == float("-inf")


def _number(value: Value) -> float | None:
    return float(value.op.value) if isinstance(value.op, arith.Constant) else None


@DEGREES.register(Mma)
def _mma(op: Mma, of: Any) -> Found:
    made = product(of(op.a), of(op.b), (op.a, op.b))
    return None if made is not None and made.terms and not made.powers else plus(of(op.acc), made)


@DEGREES.register(reduce.ReduceSum)
def _sum(op: reduce.ReduceSum, of: Any) -> Found:
    made = of(op.src)
    return made if made is None or made.powers or not made.terms else None


@DEGREES.register(
    reduce.ReduceMax, reduce.ReduceMin, shape.Broadcast, shape.Reshape, shape.Permute, math.StopGradient)
def _same(op: Any, of: Any) -> Found:
    found: Found = of(op.src)
    return found


@DEGREES.register(convert.Cast)
def _cast(op: convert.Cast, of: Any) -> Found:
    made = of(op.src)
    floats = op.src.type.dtype.is_float and op.result.type.dtype.is_float
    return made if floats or _plain(made) else None


_FUNCTIONS: dict[type[Op], Rule] = {
    arith.Add: lambda op, of: plus(of(op.lhs), of(op.rhs)),
    arith.Sub: lambda op, of: plus(of(op.lhs), negative(of(op.rhs))),
    arith.Mul: lambda op, of: product(of(op.lhs), of(op.rhs), (op.lhs, op.rhs)),
    arith.Div: lambda op, of: quotient(of(op.lhs), of(op.rhs), op.rhs),
    math.Neg: lambda op, of: negative(of(op.src)),
    math.Exp: lambda op, of: power(of(op.src), 2.718281828459045),
    math.Exp2: lambda op, of: power(of(op.src), 2.0),
    math.Log: lambda op, of: logarithm(of(op.src), 2.718281828459045),
    math.Log2: lambda op, of: logarithm(of(op.src), 2.0),
}
for _op, _rule in _FUNCTIONS.items():
    DEGREES.add(_op, _rule)
