"""Whether the elements of an output along one axis are independent of each other: its rows.

Row r of the output is what a store writes at first + e along the axis, for position e of the tile. Its value is
followed backwards (`kinds.py` has the rules of ops). Whatever mixes rows, or lets a row's number, its position in the
tile or the number of rows enter a value, ends the search, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tilewright.interp.certifying.forms import Stretch, places, told_by
from tilewright.interp.certifying.kinds import KINDS, OWN, SHARED, Kind, Mixed, joined, same_along
from tilewright.interp.certifying.slices import Code, limits
from tilewright.tileir.analysis.linear import Linear, Terms, form_of, primitive
from tilewright.tileir.carried import carried, maker_of
from tilewright.tileir.core import Block, Op, Value
from tilewright.tileir.diagnostics import NO_SPAN, Span
from tilewright.tileir.ops import arith, arrays, control
from tilewright.tileir.ops.memory import Gather, Load

NUMBER = "the number of the row enters the value"


class RowSlice:
    """The slice behind one store, for one axis of the array that it writes.

    `rows`: the arrays that are read row by row, each with the axis of its rows; `shared`: those that all rows read;
    `extents`: those of arrays that enter the value; `visited`: the ops on the way.
    """

    def __init__(self, code: Code, store: Any, axis: int) -> None:
        self.code = code
        self.store = store
        found = places(store)
        self.place = _written(found[axis], store)
        self.told: frozenset[Terms] = told_by(p for k, p in enumerate(found) if k != axis)
        self.guards = self._guards()
        self.loops = self._loops_of([self.place])
        self.columns = self._loops_of([p for k, p in enumerate(found) if p is not None and k != axis])
        self.rows: dict[Value, int] = {}
        self.shared: dict[Value, Span] = {}
        self.visited: dict[Op, None] = {}
        self.extents: dict[tuple[Value, int], Span] = {}
        self._assumed: dict[Value, Kind] = {}  # of what loops and branches carry, so far
        self._grew = False
        self._known: dict[Value, Kind] = {}
        self._guarding = False  # inside of a condition that holds for each row that is written

    def _guards(self) -> frozenset[Value]:
        mask = getattr(self.store, "mask", None)
        conditions = [around.cond for around, block in self.code.around(self.store)
                      if isinstance(around, control.If) and block is around.then]
        return frozenset(_conjuncts([*conditions, *([] if mask is None else [mask])]))

    def _loops_of(self, found: Iterable[Stretch]) -> frozenset[Op]:
        """The loops whose variables tell these numbers."""
        behind = self.code.behind(value for place in found for value, _ in place.terms)
        made = (maker_of(v, self.code.parents) for v in behind if v.op is None)
        return frozenset(op for op in made if op is not None)

    # -- the whole

    def follow(self) -> None:
        """Follow the stored value; Mixed where rows meet."""
        self._grew = True
        while self._grew:
            self._grew = False
            self._known.clear()
            kind = self.kind(self.store.value)
            self._decided()
            for value in list(self._assumed):
                self._assume(value)
        own = _axis(self.place)
        if kind.row not in (None, own):
            raise Mixed("rows are stored along another axis", self.store.span)
        same_along(kind, own, self.store)

    def _decided(self) -> None:
        """Conditions and loops around the store: whether a row is written may follow from its number, but not which of
        several values is."""
        guards, self.guards = self.guards, frozenset()
        for around, block in self.code.around(self.store):
            if around in self.loops or around in self.columns:
                continue
            if isinstance(around, control.If) and self._alone(block) and self._steady(around.cond):
                self._guard(around.cond)
                continue
            for value in limits(around):
                self._known.clear()
                self.kind(value)
        mask = getattr(self.store, "mask", None)
        if mask is not None and self._alone(None) and self._steady(mask):
            self._guard(mask)
        elif mask is not None:
            self._known.clear()
            self.kind(mask)
        self.guards = guards

    def _alone(self, block: Block | None) -> bool:
        """Whether the store is the only one to its array, or all are in the block."""
        writes = [use.op for use in self.code.of(self.code.memory(self.store.array)) if use.writes]
        return len(writes) == 1 or (block is not None and all(
            any(inner is block for _, inner in self.code.around(op)) for op in writes))

    def _steady(self, value: Value) -> bool:
        """Whether it is the same in all iterations that write one row."""
        repeated = {p for around, _ in self.code.around(self.store) if around not in self.loops
                    and around not in self.columns for block in around.blocks for p in block.params}
        return repeated.isdisjoint(self.code.behind([value]))

    # -- one value

    def kind(self, value: Value) -> Kind:
        if value in self.guards and not self._guarding:
            return self._guard(value)
        found = self._known.get(value)
        if found is None:
            found = self._known[value] = self._located(value)
        return found

    def _located(self, value: Value) -> Kind:
        """Its kind; what is wrong with an operand is wrong at the op that uses it."""
        try:
            return self._kind(value)
        except Mixed as mixed:
            op = value.op
            if not mixed.by_use or op is None or mixed.span == op.span:  # the number itself
                raise
            raise Mixed(mixed.reason, op.span) from None

    def _guard(self, value: Value) -> Kind:
        """Of a condition that is true of each row that is written: row numbers may enter it."""
        outer, self._known, self._guarding = self._known, {}, True
        try:
            return self.kind(value)
        finally:
            self._known, self._guarding = outer, False

    def _kind(self, value: Value) -> Kind:
        form = form_of(value)
        if form is not None:
            found = self._of_form(value, form)
            if found is not None:
                return found
        op = maker_of(value, self.code.parents)
        if op is None:
            return SHARED  # an argument
        if isinstance(op, control.For | control.While | control.If):
            return self._of_control(value, op)
        self.visited[op] = None
        return self._of_op(op)

    def _of_form(self, value: Value, form: Linear) -> Kind | None:
        """Of an integer by the numbers in it; None for an unknown that is none of the store's numbers."""
        varies = frozenset(axis for axis, _ in form.along)
        if form.terms and primitive(form.terms) in self.told:
            return Kind(None, varies)
        if form.terms and primitive(form.terms) == primitive(self.place.terms):
            return self._row_number(value, form)
        unknowns = form.unknowns
        if unknowns == {value}:
            if value in {unknown for unknown, _ in self.place.terms}:
                raise Mixed(NUMBER, _span(value), by_use=True)
            return None
        return joined([Kind(None, varies), *(self.kind(v) for v in unknowns)], value.op)

    def _row_number(self, value: Value, form: Linear) -> Kind:
        if not self._guarding or len(form.along) > 1:
            raise Mixed(NUMBER, _span(value), by_use=True)
        if self.place.axis is None:
            return Kind(OWN)
        if not form.along:
            raise Mixed(NUMBER, _span(value))
        return Kind(form.along[0][0])

    def _of_control(self, value: Value, op: Op) -> Kind:
        """What a loop or a branch carries, or a loop's variable."""
        if isinstance(op, control.For) and value is op.loop.params[0]:
            if op in self.loops:
                raise Mixed(NUMBER, op.span)
            return joined([self.kind(v) for v in limits(op)], op)
        if op in self.loops and not _is_handed_on(value, op):
            raise Mixed("a value is carried from one row to the next", op.span)
        if value not in self._assumed:
            self._assumed[value] = SHARED
            self._assume(value)
            self._grew = True  # what was found on the way took less for granted
        return self._assumed[value]

    def _assume(self, value: Value) -> None:
        """Take for granted of a carried value what all that meet in it are."""
        op = maker_of(value, self.code.parents)
        assert op is not None
        met = [v for group in carried(op) if value in group for v in group if v is not value and v not in op.results]
        deciding = [] if op in self.loops else limits(op)
        found = joined([self._assumed[value], *(self.kind(v) for v in (*met, *deciding))], op)
        if found != self._assumed[value]:
            self._assumed[value] = found
            self._grew = True

    def _of_op(self, op: Any) -> Kind:
        if isinstance(op, Load | Gather):
            return self._read(op)
        if isinstance(op, arrays.Extent):
            if not self._guarding:
                self.extents[self._root(op.array), op.axis] = op.span
            return SHARED
        rule = KINDS.of(op)
        if rule is not None:
            return rule(self, op)
        if op.elementwise:
            return joined([self.kind(v) for v in op.operands], op)
        raise Mixed(f"nothing is known of `{op.opcode}`", op.span)

    # -- memory

    def _root(self, array: Value) -> Value:
        """The argument that an array is a view of; which part of it must be the same for all rows."""
        op = array.op
        if isinstance(op, arrays.SliceArray | arrays.ListItem):
            bounds = [op.start, op.stop] if isinstance(op, arrays.SliceArray) else [op.index]
            if any(self.kind(v).row is not None for v in bounds):
                raise Mixed("which part of an array is read follows from the row", op.span)
            return self._root(op.array if isinstance(op, arrays.SliceArray) else op.list)
        if op is None and array in self.code.function.params:
            return array
        raise Mixed("memory is accessed without the axes of an array", NO_SPAN if op is None else op.span)

    def _read(self, op: Load | Gather) -> Kind:
        array, aligned = self._root(op.array), self._aligned(op)
        order = op.order if isinstance(op, Load) else range(len(op.indices))
        indices = op.index if isinstance(op, Load) else op.indices
        kinds = [self._index(index, op) for axis, index in zip(order, indices, strict=True) if axis != aligned]
        if isinstance(op, Load):
            kinds.append(Kind(None, frozenset(axis for axis, n in enumerate(op.shape) if n > 1)))
        else:
            kinds += [self.kind(v) for v in (op.mask, op.padding) if v is not None]
        if aligned is None:
            self.shared.setdefault(array, op.span)
            return joined(kinds, op)
        if self.rows.setdefault(array, aligned) != aligned:
            raise Mixed(f"rows of {array.hint or 'the array'} are read along two axes", op.span)
        place = places(op)[aligned]
        row = OWN if place is None else _axis(place)
        if isinstance(op, Load):
            kinds.pop()  # along its own axis the tile varies by row
        return joined([Kind(row), *kinds], op)

    def _index(self, index: Value, op: Op) -> Kind:
        try:
            return self.kind(index)
        except Mixed as mixed:
            if mixed.reason != NUMBER:
                raise
            raise Mixed("the number of the row says which elements are read", op.span) from None

    def _aligned(self, op: Any) -> int | None:
        """The axis of an array along which an access reads, at each position, the row that is written there."""
        for axis, place in enumerate(places(op)):
            if place is not None and place[:2] == self.place[:2] and place.length == self.place.length:
                return axis
        return None


def _written(place: Stretch | None, store: Op) -> Stretch:
    """The rows that a store writes, each by one position of the tile."""
    if place is None:
        raise Mixed("which rows are written follows from values", store.span)
    if not place.terms:
        raise Mixed("it is written in one place along this axis", store.span)
    if not place.tells:
        raise Mixed("the tiles that are written overlap along this axis", store.span)
    return place


def _axis(place: Stretch) -> int:
    return OWN if place.axis is None else place.axis


def _conjuncts(values: list[Value]) -> set[Value]:
    """The values, and the masks that they are made of by `and` and by changes of shape."""
    found: set[Value] = set()
    while values:
        value = values.pop()
        found.add(value)
        op = value.op
        if op is not None and (isinstance(op, arith.And) or op.view or op.rearranges):
            values += op.operands
    return found


def _is_handed_on(value: Value, op: Op) -> bool:
    """Whether each iteration of a loop hands on what it was given."""
    groups = [group for group in carried(op) if value in group]
    return isinstance(op, control.For) and all(given is handed for _, given, handed, _ in groups)


def _span(value: Value) -> Span:
    return NO_SPAN if value.op is None else value.op.span
