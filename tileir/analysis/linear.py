"""Integers as linear forms of scalars that are not sums themselves (block numbers, loop variables, quotients).

    rows = i * 16 + arange(16)      ->  16 * i, and 1 along axis 0 of the tile

The function is one after the passes, in which equal scalars are one value. Forms are asked for in two ways: `form_of`
takes index arithmetic not to wrap, as proofs do, which say so; `Forms` goes only through ops that the facts show exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tilewright.tileir.analysis.facts import Facts
from tilewright.tileir.core import Value
from tilewright.tileir.dtypes import int32
from tilewright.tileir.ops import arith, arrays, convert, shape
from tilewright.tileir.rules import RuleTable
from tilewright.tileir.types import TileType

Terms = frozenset[tuple[Value, int]]
"""Unknowns with their factors."""
NO_TERMS: Terms = frozenset()
FEW = 1 << 16
"""Numbers of a tile of which the least and the greatest say something."""


class Linear(NamedTuple):
    """`terms` + `along` + `number`; `along` has the factors of the position along axes of the tile. `spread`: and for
    each element some number from the one to the other, inclusively."""

    terms: Terms = NO_TERMS
    along: tuple[tuple[int, int], ...] = ()
    number: int = 0
    spread: tuple[int, int] = (0, 0)

    @property
    def unknowns(self) -> frozenset[Value]:
        return frozenset(value for value, _ in self.terms)

    @property
    def varies(self) -> bool:
        """Whether elements of the tile may differ."""
        return bool(self.along) or self.spread != (0, 0)

    def scaled(self, factor: int) -> Linear:
        if factor == 0:
            return Linear()
        low, high = sorted(n * factor for n in self.spread)
        return Linear(frozenset((v, n * factor) for v, n in self.terms), tuple((a, n * factor) for a, n in self.along),
                    self.number * factor, (low, high))

    def plus(self, other: Linear, sign: int = 1) -> Linear:
        other = other.scaled(sign)
        terms, along = dict(self.terms), dict(self.along)
        for value, n in other.terms:
            terms[value] = terms.get(value, 0) + n
        for axis, n in other.along:
            along[axis] = along.get(axis, 0) + n
        low, high = (one + more for one, more in zip(self.spread, other.spread, strict=True))
        return Linear(frozenset((v, n) for v, n in terms.items() if n),
                    tuple(sorted((a, n) for a, n in along.items() if n)), self.number + other.number, (low, high))

    def moved(self, where: dict[int, int]) -> Linear:
        """The same with axes under other numbers; those that `where` lacks have one element."""
        return self._replace(along=tuple(sorted((where[a], n) for a, n in self.along if a in where)))


def primitive(terms: Terms) -> Terms:
    """The terms without their common factor: equal for a number and its multiples."""
    common = math.gcd(*(n for _, n in terms)) if terms else 1
    return frozenset((value, n // common) for value, n in terms)


class Forms:
    """The forms of a function's integers. `known`: its facts; without them no op is taken to wrap. `assumed`: where it
    is given, sums of tiles that may wrap have forms, too; it gains those forms that must stay within int32, each with
    the shape of its tile. Tiles of other numbers then have as a form what the facts say of them all: arange(64) // 4 is
    0 to 15."""

    def __init__(self, known: Facts | None = None, assumed: list[tuple[Linear, tuple[int, ...]]] | None = None) -> None:
        self.known, self.assumed = known, assumed
        self._found: dict[Value, Linear | None] = {}

    def of(self, value: Value) -> Linear | None:
        """The form of an integer; None for a tile that has none. A scalar without one is an unknown. Each value is
        looked at once, its operands first, however long a chain is."""
        work = [value]
        while work:
            now = work[-1]
            missing = () if now in self._found else [v for v in self._asked(now) if v not in self._found]
            work += missing
            if not missing:
                work.pop()
                if now not in self._found:
                    self._found[now] = self._of(now)
        return self._found[value]

    def _asked(self, value: Value) -> Sequence[Value]:
        """The operands of whose forms the form of a value is made."""
        op = value.op
        if op is None or _RULES.of(op) is None or not _is_integer(value):
            return ()
        return op.operands if self._exact(op) or self._assumable(value) else ()

    def _of(self, value: Value) -> Linear | None:
        if not _is_integer(value):
            return None
        rule = None if value.op is None else _RULES.of(value.op)
        exact = rule is None or self._exact(value.op)
        form = rule(value.op, self) if rule is not None and (exact or self._assumable(value)) else None
        if form is not None and not exact and self.assumed is not None:
            self.assumed.append((form, value.type.shape))
        if form is None and value.type.shape:
            return self._bounded(value)
        unknown = form is None or (form.varies and not value.type.shape)
        return Linear(frozenset({(value, 1)})) if unknown else form

    def _bounded(self, value: Value) -> Linear | None:
        if self.assumed is None or self.known is None:
            return None
        low, high = self.known[value].low, self.known[value].high
        return Linear(spread=(low, high)) if 0 <= high - low < FEW else None

    def _assumable(self, value: Value) -> bool:
        sums = isinstance(value.op, arith.Add | arith.Sub) and bool(value.type.shape)
        return self.assumed is not None and sums and value.type.dtype is int32

    def _exact(self, op: Any) -> bool:
        """Whether the op's result is that of arithmetic without bounds."""
        if self.known is None:
            return True
        low, high = op.result.type.dtype.int_range
        if isinstance(op, convert.Cast):
            source = op.src.type.dtype
            return not source.is_int or bool(self.known[op.src].within(low, high))
        corners = _CORNERS.of(op)
        if corners is None:
            return True
        x, y = self.known[op.lhs], self.known[op.rhs]
        found = [corners(a, b) for a in (x.low, x.high) for b in (y.low, y.high)]
        return bool(low <= min(found) and max(found) <= high)


def form_of(value: Value) -> Linear | None:
    """The form of an integer, index arithmetic taken not to wrap."""
    return Forms().of(value)


def _is_integer(value: Value) -> bool:
    return isinstance(value.type, TileType) and value.type.dtype.is_int


# Of ops whose exact result is greatest and least at the ends of their operands' ranges.
_CORNERS: RuleTable[Callable[[int, int], int]] = RuleTable("exact result", {
    arith.Add: lambda a, b: a + b,
    arith.Sub: lambda a, b: a - b,
    arith.Mul: lambda a, b: a * b,
    arith.Shl: lambda a, b: a << b if 0 <= b < 64 else 1 << 64,
})
_RULES: RuleTable[Callable[[Any, Forms], Linear | None]] = RuleTable("linear form")


@_RULES.register(arith.Constant)
def _constant(op: arith.Constant, forms: Forms) -> Linear:
    return Linear(number=int(op.value))


@_RULES.register(arith.Add)
def _add(op: arith.Add, forms: Forms) -> Linear | None:
    left, right = forms.of(op.lhs), forms.of(op.rhs)
    return None if left is None or right is None else left.plus(right)


@_RULES.register(arith.Sub)
def _sub(op: arith.Sub, forms: Forms) -> Linear | None:
    left, right = forms.of(op.lhs), forms.of(op.rhs)
    return None if left is None or right is None else left.plus(right, -1)


@_RULES.register(arith.Mul)
def _mul(op: arith.Mul, forms: Forms) -> Linear | None:
    for one, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        factor, form = forms.of(one), forms.of(other)
        if factor is not None and form is not None and not factor.terms and not factor.varies:
            return form.scaled(factor.number)
    return None


@_RULES.register(arith.Shl)
def _shl(op: arith.Shl, forms: Forms) -> Linear | None:
    left, right = forms.of(op.lhs), forms.of(op.rhs)
    if left is None or right is None or right.terms or right.varies or not 0 <= right.number < 64:
        return None
    return left.scaled(1 << right.number)


@_RULES.register(convert.Cast)
def _cast(op: convert.Cast, forms: Forms) -> Linear | None:
    """Of an integer that keeps its value unless it wraps."""
    return forms.of(op.src)


@_RULES.register(arrays.AssumeDivisible)
def _same(op: arrays.AssumeDivisible, forms: Forms) -> Linear | None:
    return forms.of(op.src)


@_RULES.register(shape.Iota)
def _iota(op: shape.Iota, forms: Forms) -> Linear:
    return Linear(along=((0, 1),))


@_RULES.register(shape.Broadcast)
def _broadcast(op: shape.Broadcast, forms: Forms) -> Linear | None:
    form, lengths = forms.of(op.src), op.src.type.shape
    return None if form is None else form.moved({axis: axis for axis, n in enumerate(lengths) if n > 1})


@_RULES.register(shape.Permute)
def _permute(op: shape.Permute, forms: Forms) -> Linear | None:
    form = forms.of(op.src)
    return None if form is None else form.moved({old: new for new, old in enumerate(op.axes)})


@_RULES.register(shape.Reshape)
def _reshape(op: shape.Reshape, forms: Forms) -> Linear | None:
    form, moves = forms.of(op.src), squeezed(op)
    return None if form is None or moves is None else form.moved(moves)


def squeezed(op: shape.Reshape) -> dict[int, int] | None:
    """Where the axes of more than one element go, if a change of shape adds and removes only others."""
    have, want = ([(axis, n) for axis, n in enumerate(lengths) if n > 1] for lengths in (op.src.type.shape, op.shape))
    if [n for _, n in have] != [n for _, n in want]:
        return None
    return {old: new for (old, _), (new, _) in zip(have, want, strict=True)}
