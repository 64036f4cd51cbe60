"""In which iterations of a counted loop a comparison has one known value, and how many iterations these can be.

    %k = add(%j * 64, arange(64))            // %j: the loop variable
    lt(lhs=%k, rhs=%n)                       // true for every element where j < ceil((n - 63) / 64)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tilewright.tileir.analysis.facts import Facts
from tilewright.tileir.analysis.linear import Forms, Linear
from tilewright.tileir.core import Value
from tilewright.tileir.ops import arith
from tilewright.tileir.ops.control import For
from tilewright.tileir.rules import RuleTable

UNKNOWN = math.inf


class Quotient(NamedTuple):
    """floor(form / divisor): `form` has unknowns from before the loop only."""

    form: Linear
    divisor: int = 1


Divide = Callable[[Linear], Quotient]


class Threshold(NamedTuple):
    """The comparison is known for loop variables below `at`, or else from `at` on. `exact`: and has the other value for
    all others. Where one of `ends`, the least and the greatest elements of sums, is no int32, it is known nowhere."""

    at: Quotient
    below: bool
    exact: bool
    ends: tuple[Linear, ...] = ()


class Thresholds:
    """The thresholds of comparisons in one loop."""

    def __init__(self, loop: For, known: Facts) -> None:
        self.loop = loop
        self.known = known
        self.assumed: list[tuple[Linear, tuple[int, ...]]] = []
        self.forms = Forms(known, self.assumed)
        self.inside = {v for op in loop.inside() for v in op.results} | set(loop.loop.params)

    def of(self, op: Any, value: bool) -> Threshold | None:
        """Where a comparison of integers is `value` in each element."""
        self.assumed = []
        self.forms = Forms(self.known, self.assumed)
        left, right = self.forms.of(op.lhs), self.forms.of(op.rhs)
        if left is None or right is None:
            return None
        if isinstance(op, arith.Eq | arith.Ne):
            return self._unequal(left.plus(right, -1)) if value is isinstance(op, arith.Ne) else None
        below_zero = _BELOW_ZERO.of(op)
        if below_zero is None:
            return None
        difference = below_zero(left, right)
        found = self._below_zero(difference if value else _opposite(difference), op.result.type.shape)
        if found is None or any(not form.unknowns.isdisjoint(self.inside) for form, _ in self.assumed):
            return None
        ends = tuple(form._replace(along=(), spread=(0, 0)).plus(Linear(number=n)) for form, shape in self.assumed
                     for n in _ends(form, shape))
        return found._replace(exact=found.exact and not ends, ends=ends)

    def _below_zero(self, form: Linear, shape: tuple[int, ...]) -> Threshold | None:
        factor, rest = self._split(form)
        if not factor:
            return None
        greatest = rest.plus(Linear(number=_ends(form, shape)[1]))
        if factor > 0:
            return Threshold(_ceiling(greatest.scaled(-1), factor), True, not form.varies)
        return Threshold(_ceiling(greatest.plus(_ONE), -factor), False, not form.varies)

    def _unequal(self, form: Linear) -> Threshold | None:
        """A scalar that is zero in the first or the last iteration alone."""
        factor, rest = self._split(form)
        if self.assumed or form.varies or abs(factor) != 1:
            return None
        zero = rest.scaled(-factor)
        if zero == self.forms.of(self.loop.lower):
            return Threshold(Quotient(zero.plus(_ONE)), False, True)
        return Threshold(Quotient(zero), True, True) if zero.plus(_ONE) == self.forms.of(self.loop.upper) else None

    def _split(self, form: Linear) -> tuple[int, Linear]:
        """The factor of the loop variable (0 where the rest cannot be computed before the loop), and the rest without
        positions in tiles."""
        variable = self.loop.loop.params[0]
        rest = Linear(frozenset(t for t in form.terms if t[0] is not variable), (), form.number)
        # Thresholds are computed in int64.
        known = all(v not in self.inside and v.type.dtype.int_range[1] < 1 << 63 for v in rest.unknowns)
        return dict(form.terms).get(variable, 0) if known else 0, rest

    def most(self, after: Sequence[Quotient], before: Sequence[Quotient]) -> float:
        """The most iterations with loop variables from all of `after` on and below all of `before`. A bound of the
        loop that is the least or the greatest of several may be any of them."""
        step = self.known[self.loop.step].low
        lower, upper = self._bound(self.loop.lower), self._bound(self.loop.upper)
        below = [*before, *self._bound(self.loop.upper, only=()), *self._bound(self.loop.upper, only=arith.Min)]
        above = [*after, *self._bound(self.loop.lower, only=()), *self._bound(self.loop.lower, only=arith.Max)]
        values = min(
            max(min(self._between(low, end) for end in below) for low in lower),
            max(min(self._between(start, high) for start in above) for high in upper),
            min((self._between(a, b) for a in after for b in before), default=UNKNOWN))
        return values / step

    def _bound(self, value: Value, divide: Divide = Quotient, only: Any = arith.Min | arith.Max) -> list[Quotient]:
        """What a bound of the loop is: quotients, of which it is the least or the greatest (`only`: of these ops)."""
        op = value.op
        if isinstance(op, only):
            return [*self._bound(op.lhs, divide, only), *self._bound(op.rhs, divide, only)]
        if isinstance(op, arith.FloorDiv | arith.CeilDiv) and divide is Quotient:
            divisor = self.known[op.rhs].constant
            if divisor is not None and divisor > 0:
                rounded = _ceiling if isinstance(op, arith.CeilDiv) else Quotient
                return self._bound(op.lhs, lambda form: rounded(form, divisor), only)
        form = self.forms.of(value)
        assert form is not None  # of an integer scalar
        return [divide(form)]

    def _between(self, low: Quotient, high: Quotient) -> float:
        """The most that high - low can be."""
        p, q = high.divisor, low.divisor
        if p != q and 1 not in (p, q):
            return UNKNOWN
        common = max(p, q)  # floor(x / p) - y = floor((x - p * y) / p)
        gap = high.form.scaled(common // p).plus(low.form.scaled(common // q), -1)
        if gap.unknowns:
            return UNKNOWN
        if p < q:  # y - floor(x / q) = ceil((q * y - x) / q)
            return -(-gap.number // common)
        residue = common - math.gcd(common, self._divisor(low.form)) if p == q else 0
        return (residue + gap.number) // common

    def _divisor(self, form: Linear) -> int:
        """A divisor of every value of a form."""
        return math.gcd(form.number, *(n * self.known[v].divisor for v, n in form.terms))


def _ends(form: Linear, shape: tuple[int, ...]) -> tuple[int, int]:
    """What positions in a tile of this shape add to a form at least, and at most."""
    spans = [n * (shape[axis] - 1) for axis, n in form.along]
    low, high = form.spread
    return low + sum(min(0, n) for n in spans), high + sum(max(0, n) for n in spans)


def _ceiling(form: Linear, divisor: int) -> Quotient:
    return Quotient(form.plus(Linear(number=divisor - 1)), divisor)


def _opposite(form: Linear) -> Linear:
    """Below zero where the form is not."""
    return form.scaled(-1).plus(_ONE, -1)


_ONE = Linear(number=1)
# Of each comparison, a form that is below zero where it is true.
_BELOW_ZERO: RuleTable[Callable[[Linear, Linear], Linear]] = RuleTable("comparison of forms", {
    arith.Lt: lambda x, y: x.plus(y, -1),
    arith.Le: lambda x, y: x.plus(y, -1).plus(_ONE, -1),
    arith.Gt: lambda x, y: y.plus(x, -1),
    arith.Ge: lambda x, y: y.plus(x, -1).plus(_ONE, -1),
})
