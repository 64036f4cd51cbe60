"""Integers as linear forms, and where an access lies along each axis of its array.

    rows = i * 16 + arange(16)      ->  16 * i, and 1 along axis 0 of the tile

The unknowns are scalars that are no sums themselves (block numbers, loop variables, quotients). The function is one
after the passes, in which equal scalars are one value. As in proofs, index arithmetic is taken not to wrap.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from tilewright.tileir.core import Value
from tilewright.tileir.ops import arith, arrays, convert, shape
from tilewright.tileir.ops.memory import TileAccess
from tilewright.tileir.rules import RuleTable
from tilewright.tileir.types import TileType

Terms = frozenset[tuple[Value, int]]
"""Unknowns with their factors."""
NO_TERMS: Terms = frozenset()


class Linear(NamedTuple):
    """`terms` + `along` + `number`; `along` has the factors of the position along axes of the tile."""

    terms: Terms = NO_TERMS
    along: tuple[tuple[int, int], ...] = ()
    number: int = 0

    @property
    def unknowns(self) -> frozenset[Value]:
        return frozenset(value for value, _ in self.terms)

    def scaled(self, factor: int) -> Linear:
        if factor == 0:
            return Linear()
        return Linear(frozenset((v, n * factor) for v, n in self.terms), tuple((a, n * factor) for a, n in self.along),
                    self.number * factor)

    def plus(self, other: Linear, sign: int = 1) -> Linear:
        other = other.scaled(sign)
        terms, along = dict(self.terms), dict(self.along)
        for value, n in other.terms:
            terms[value] = terms.get(value, 0) + n
        for axis, n in other.along:
            along[axis] = along.get(axis, 0) + n
        return Linear(frozenset((v, n) for v, n in terms.items() if n),
                    tuple(sorted((a, n) for a, n in along.items() if n)), self.number + other.number)

    def moved(self, where: dict[int, int]) -> Linear:
        """The same with axes under other numbers; those that `where` lacks have one element."""
        return self._replace(along=tuple(sorted((where[a], n) for a, n in self.along if a in where)))


def primitive(terms: Terms) -> Terms:
    """The terms without their common factor: equal for a number and its multiples."""
    common = math.gcd(*(n for _, n in terms)) if terms else 1
    return frozenset((value, n // common) for value, n in terms)


_RULES: RuleTable[Callable[[Any], Linear | None]] = RuleTable("linear form")


def form_of(value: Value) -> Linear | None:
    """The form of an integer; None for a tile that has none. A scalar without one is an unknown."""
    if not isinstance(value.type, TileType) or not value.type.dtype.is_int:
        return None
    rule = None if value.op is None else _RULES.of(value.op)
    form = None if rule is None else rule(value.op)
    return Linear(frozenset({(value, 1)})) if form is None and not value.type.shape else form


@_RULES.register(arith.Constant)
def _constant(op: arith.Constant) -> Linear:
    return Linear(number=int(op.value))


@_RULES.register(arith.Add)
def _add(op: arith.Add) -> Linear | None:
    left, right = form_of(op.lhs), form_of(op.rhs)
    return None if left is None or right is None else left.plus(right)


@_RULES.register(arith.Sub)
def _sub(op: arith.Sub) -> Linear | None:
    left, right = form_of(op.lhs), form_of(op.rhs)
    return None if left is None or right is None else left.plus(right, -1)


@_RULES.register(arith.Mul)
def _mul(op: arith.Mul) -> Linear | None:
    for one, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        factor, form = form_of(one), form_of(other)
        if factor is not None and form is not None and not factor.terms and not factor.along:
            return form.scaled(factor.number)
    return None


@_RULES.register(arith.Shl)
def _shl(op: arith.Shl) -> Linear | None:
    left, right = form_of(op.lhs), form_of(op.rhs)
    if left is None or right is None or right.terms or right.along or not 0 <= right.number < 64:
        return None
    return left.scaled(1 << right.number)


@_RULES.register(convert.Cast)
def _cast(op: convert.Cast) -> Linear | None:
    """Of an integer that keeps its value unless it wraps."""
    return form_of(op.src)


@_RULES.register(arrays.AssumeDivisible)
def _same(op: arrays.AssumeDivisible) -> Linear | None:
    return form_of(op.src)


@_RULES.register(shape.Iota)
def _iota(op: shape.Iota) -> Linear:
    return Linear(along=((0, 1),))


@_RULES.register(shape.Broadcast)
def _broadcast(op: shape.Broadcast) -> Linear | None:
    form, lengths = form_of(op.src), op.src.type.shape
    return None if form is None else form.moved({axis: axis for axis, n in enumerate(lengths) if n > 1})


@_RULES.register(shape.Permute)
def _permute(op: shape.Permute) -> Linear | None:
    form = form_of(op.src)
    return None if form is None else form.moved({old: new for new, old in enumerate(op.axes)})


@_RULES.register(shape.Reshape)
def _reshape(op: shape.Reshape) -> Linear | None:
    form, moves = form_of(op.src), squeezed(op)
    return None if form is None or moves is None else form.moved(moves)


def squeezed(op: shape.Reshape) -> dict[int, int] | None:
    """Where the axes of more than one element go, if a change of shape adds and removes only others."""
    have, want = ([(axis, n) for axis, n in enumerate(lengths) if n > 1] for lengths in (op.src.type.shape, op.shape))
    if [n for _, n in have] != [n for _, n in want]:
        return None
    return {old: new for (old, _), (new, _) in zip(have, want, strict=True)}


class Stretch(NamedTuple):
    """What an access touches along one axis of its array: `length` elements from `terms` + `number` on, along axis
    `axis` of the tile (None: one element)."""

    terms: Terms
    number: int
    axis: int | None
    length: int

    @property
    def tells(self) -> bool:
        """Whether an element's position tells `terms`, and where in the tile it is: the tiles do not overlap."""
        return not self.terms or math.gcd(*(n for _, n in self.terms)) >= self.length


def places(op: Any) -> list[Stretch | None]:
    """Of each axis of the array that an op accesses; None where the indices have no such form."""
    if not isinstance(op, TileAccess):
        return [_of_elements(form_of(index), op.shape) for index in op.indices]
    lengths = op.tile.type.shape
    found: list[Stretch | None] = [None] * len(op.index)
    for k, axis in enumerate(op.order):
        form = form_of(op.index[k])
        if form is not None:
            first = form.scaled(op.steps[k])
            found[axis] = Stretch(first.terms, first.number, k if lengths[k] > 1 else None, lengths[k])
    return found


def _of_elements(form: Linear | None, lengths: tuple[int, ...]) -> Stretch | None:
    if form is None or len(form.along) > 1:
        return None
    if not form.along:
        return Stretch(form.terms, form.number, None, 1)
    [(axis, factor)] = form.along
    return Stretch(form.terms, form.number, axis, lengths[axis]) if factor == 1 else None


def told_by(found: Iterable[Stretch | None]) -> frozenset[Terms]:
    """The terms, without common factors, that an element's position tells."""
    return frozenset(primitive(p.terms) for p in found if p is not None and p.terms and p.tells)


def writes_once(op: Any) -> bool:
    """Whether each element of the tile goes to an element of its own."""
    if isinstance(op, TileAccess):
        return True
    told = {place.axis for place in places(op) if place is not None}
    return all(axis in told for axis, n in enumerate(op.shape) if n > 1)
