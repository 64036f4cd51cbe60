"""Which elements of several gathers are one: neighbours in an image, say, that stencils read again and again.

    gather(x, (y - 1, z)), gather(x, (y, z))      row r of the first is row r - 1 of the second
    gather(x, (y, (z + 1) % n))                   column c is column c + 1 of that at z % n

An index is a function of one linear form of the position in the tile. Where forms and functions are alike, equal
numbers have equal indices.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from tilewright.tileir.analysis.linear import Forms, Linear
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.core import Op, Value
from tilewright.tileir.layout import Layout
from tilewright.tileir.layouts.flat import is_plain
from tilewright.tileir.layouts.queries import register_offsets
from tilewright.tileir.ops.convert import Cast
from tilewright.tileir.ops.memory import Gather
from tilewright.tileir.ops.shape import Broadcast, Permute, Reshape
from tilewright.tileir.rewrite import constant_value


class IndexForms(Forms):
    """Forms of index tiles, modulo the numbers of their dtype. Of a function of a form, `terms` are one: the function
    with the form's own terms."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[Value, Linear | None] = {}

    def of(self, value: Value) -> Linear | None:
        if value not in self.found:
            self.found[value] = self._of(value)
        return self.found[value]

    def _of(self, value: Value) -> Linear | None:
        op: Any = value.op
        if isinstance(op, Cast):  # which may wrap; other arithmetic wraps alike, whatever its order
            return _function(op, [self.of(op.src)]) if value.type.shape else Linear(frozenset({(value, 1)}))
        if isinstance(op, Broadcast | Permute | Reshape) or not value.type.shape:
            return super().of(value)
        forms = [self.of(v) for v in op.operands] if op is not None and op.elementwise else []
        form = None if any(map(_is_function, forms)) else super().of(value)
        return _function(op, forms) if form is None and forms else form


def _is_function(form: Linear | None) -> bool:
    return form is not None and any(not isinstance(term, Value) for term, _ in form.terms)


def _function(op: Op, forms: list[Linear | None]) -> Linear | None:
    """Of the one operand that is not the same everywhere."""
    varying = [form for form in forms if form is None or form.along]
    if len(varying) != 1 or varying[0] is None:
        return None
    form, attributes = varying[0], tuple(sorted((name, repr(value)) for name, value in op.attributes.items()))
    others = tuple(None if other is form else other for other in forms)
    term: Any = (type(op), attributes, op.operands[0].type.dtype, others, form.terms)
    return Linear(frozenset({(term, 1)}), form.along, form.number)


class Gathered:
    """The names of what a gather reads: where two are equal, so are the elements. `forms`: of its indices, none where
    nothing is known."""

    def __init__(self, op: Gather) -> None:
        found, padding = IndexForms(), constant_value(op.padding)
        forms = [form for index in op.indices if (form := found.of(index)) is not None]
        known = op.mask is None and padding is not None and len(forms) == len(op.indices)
        self.op, self.forms = op, forms if known else []
        self.kind = op.array, op.check_bounds, repr(padding), tuple(i.type.dtype for i in op.indices)

    def names(self, layout: Layout) -> Sequence[Hashable]:
        """Of each element of a thread, in a layout that the other gather has, too."""
        if not self.forms or not is_plain(layout):
            return ()
        places = [(form.terms, form.along, form.number) for form in self.forms]
        return [(self.kind, layout, *((terms, along, number + sum(n * offset[axis] for axis, n in along))
                                      for terms, along, number in places)) for offset in register_offsets(layout)]


def names_of_elements(unit: Unit, op: Gather) -> Sequence[Hashable]:
    """A name for each element that a thread gathers: where two are equal, so are the elements. None where nothing is
    known, and where there is but one gather of the array."""
    if not op.shape or sum(isinstance(user, Gather) for user in unit.uses[op.array]) < 2:
        return ()
    return Gathered(op).names(op.result.type.layout)
