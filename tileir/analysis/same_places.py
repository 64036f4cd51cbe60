"""Which elements of several gathers are one: neighbours in an image, say, that stencils read again and again.

    gather(x, (y - 1, z)), gather(x, (y, z))      row r of the first is row r - 1 of the second
    gather(x, (y, (z + 1) % n))                   column c is column c + 1 of that at z % n

An index is a function of one linear form of the position in the tile. Where forms and functions are alike, equal
numbers have equal indices.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

from tilewright.tileir.analysis.facts import Facts
from tilewright.tileir.analysis.linear import Forms, Linear, Terms
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.core import Op, Value
from tilewright.tileir.dtypes import DType
from tilewright.tileir.layout import Layout
from tilewright.tileir.layouts.flat import is_plain
from tilewright.tileir.layouts.queries import register_offsets
from tilewright.tileir.ops.arith import Max
from tilewright.tileir.ops.convert import Cast
from tilewright.tileir.ops.memory import Gather
from tilewright.tileir.ops.shape import Broadcast, Permute, Reshape
from tilewright.tileir.rewrite import constant_value


class IndexForms(Forms):
    """Forms of index tiles, modulo the numbers of their dtype. Of a function of a form, `terms` are one: the function
    with the form's own terms. `least`: what the other terms of functions are at least, by the function."""

    def __init__(self, facts: Facts) -> None:
        super().__init__()
        self.facts = facts
        self.least: dict[Terms, int] = {}

    def _of(self, value: Value) -> Linear | None:
        op: Any = value.op
        if isinstance(op, Cast):  # which may wrap; other arithmetic wraps alike, whatever its order
            return self._function(op, [self.of(op.src)]) if value.type.shape else Linear(frozenset({(value, 1)}))
        if isinstance(op, Broadcast | Permute | Reshape) or not value.type.shape:
            return super()._of(value)
        forms = [self.of(v) for v in op.operands] if op is not None and op.elementwise else []
        form = None if any(map(is_function, forms)) else super()._of(value)
        return self._function(op, forms) if form is None and forms else form

    def _function(self, op: Op, forms: list[Linear | None]) -> Linear | None:
        """Of the one operand that is not the same everywhere."""
        varying = [number for number, form in enumerate(forms) if form is None or form.along]
        form = forms[varying[0]] if len(varying) == 1 else None
        if form is None:
            return None
        attributes = tuple(sorted((name, repr(attribute)) for name, attribute in op.attributes.items()))
        others = tuple(None if number in varying else other for number, other in enumerate(forms))
        out = _as_term(_Function(type(op), attributes, op.operands[0].type.dtype, others, form.terms))
        least = self.least.get(form.terms, self.facts[op.operands[varying[0]]].low - form.number)
        self.least[out] = min(self.least.get(out, least), least)
        return Linear(out, form.along, form.number)


class _Function(NamedTuple):
    """Of a linear form or of another function, by its terms. `others` are its operands beside, in their order."""

    kind: type[Op]
    attributes: tuple[tuple[str, str], ...]
    dtype: DType
    others: tuple[Linear | None, ...]
    terms: Terms

    def above(self, least: int) -> Terms:
        """What it is of numbers that are at least so large: maxima with less change nothing."""
        inner = _function_of(self.terms)
        terms = self.terms if inner is None else inner.above(least)
        others = [other for other in self.others if other is not None]
        idle = self.kind is Max and _function_of(terms) is None and all(
            not other.terms and other.number <= least for other in others)
        return terms if idle else _as_term(self._replace(terms=terms))


def _as_term(function: _Function) -> Terms:
    term: Any = function
    return frozenset({(term, 1)})


def _function_of(terms: Terms) -> _Function | None:
    """The function that terms are, None for those of a linear form."""
    unknowns: list[Any] = [term for term, _ in terms]
    return next((term for term in unknowns if isinstance(term, _Function)), None)


def is_function(form: Linear | None) -> bool:
    return form is not None and _function_of(form.terms) is not None


class Gathered:
    """The names of what a gather reads: where two are equal, so are the elements. `forms`: of its indices, none where
    nothing is known."""

    def __init__(self, unit: Unit, op: Gather) -> None:
        found, padding = IndexForms(unit.facts), constant_value(op.padding)
        forms = [form for index in op.indices if (form := found.of(index)) is not None]
        known = op.mask is None and padding is not None and len(forms) == len(op.indices)
        self.op, self.forms = op, forms if known else []
        self.least = found.least
        self.kind = op.array, op.check_bounds, repr(padding), tuple(i.type.dtype for i in op.indices)

    def names(self, layout: Layout) -> Sequence[Hashable]:
        """Of each element of a thread, in a layout that the other gather has, too."""
        if not self.forms or not is_plain(layout):
            return ()
        return [(self.kind, layout, *(self._name(form, offset) for form in self.forms))
                for offset in register_offsets(layout)]

    def _name(self, form: Linear, offset: tuple[int, ...]) -> Hashable:
        """Of an index at an offset from the thread's first element, which counts up from there."""
        moved, function = sum(n * offset[axis] for axis, n in form.along), _function_of(form.terms)
        terms = form.terms
        if function is not None and all(n > 0 for _, n in form.along):
            terms = function.above(self.least[form.terms] + form.number + moved)
        return terms, form.along, form.number + moved


def names_of_elements(unit: Unit, op: Gather) -> Sequence[Hashable]:
    """A name for each element that a thread gathers: where two are equal, so are the elements. None where nothing is
    known, and where there is but one gather of the array."""
    if not op.shape or sum(isinstance(user, Gather) for user in unit.uses[op.array]) < 2:
        return ()
    return Gathered(unit, op).names(op.result.type.layout)
