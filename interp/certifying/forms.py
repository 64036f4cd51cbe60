"""Where an access lies along each axis of its array, by linear forms of its indices (tileir/analysis/linear.py)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

from tilewright.tileir.analysis.linear import Linear, Terms, form_of, primitive
from tilewright.tileir.ops.memory import TileAccess


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
