"""Give every tile a layout, and insert `convert_layout` where a user needs another layout.

    before: %x: tile<64x64xf32> = load(array=%a, ...)
            %t: tile<64x64xf32> = permute(src=%x, axes=(1, 0))
            store(array=%b, value=%t, ...)
    after:  %x: tile<64x64xf32, #0> = load(array=%a, ...)
            %t: tile<64x64xf32, #1> = permute(src=%x, axes=(1, 0))     // free: #1 is #0 with its axes swapped
            %0: tile<64x64xf32, #0> = convert_layout(src=%t)           // a coalesced store is worth a conversion
            store(array=%b, value=%0, ...)

Memory accesses propose layouts. The class of values (see classes.py) that moves the most memory chooses first, by cost.
A class without an access takes the layout that makes the ops between it and a neighbour free.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.layouts.bulk import bulk_layout
from tilewright.backend_ptx.layouts.memory import conversion_cost
from tilewright.backend_ptx.layouts.mma import ProductLayouts, scale_layouts
from tilewright.backend_ptx.layouts.turned import turning_layout
from tilewright.backend_ptx.ops.matmul import MmaScaledSync, Product
from tilewright.backend_ptx.ops.warpgroup import Stage
from tilewright.backend_ptx.passes.layouts.classes import Anchor, Classes, LayoutClass
from tilewright.backend_ptx.passes.matmul.operands import dense_axis, holds_a, is_of_sums, staged_type
from tilewright.backend_ptx.passes.pipelining.legality import brought_loads
from tilewright.tileir.analysis.axes import is_tile
from tilewright.tileir.analysis.moved import source_of
from tilewright.tileir.analysis.patches import patch
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.diagnostics import Span
from tilewright.tileir.layout import Layout
from tilewright.tileir.layouts import transform
from tilewright.tileir.layouts.blocked import row_major
from tilewright.tileir.layouts.queries import registers
from tilewright.tileir.layouts.rules import RULES, in_registers, meet, rule_of
from tilewright.tileir.machine_ops.layout import ConvertLayout
from tilewright.tileir.ops import control
from tilewright.tileir.ops.fold import Fold
from tilewright.tileir.ops.memory import Load, Store
from tilewright.tileir.ops.shape import Broadcast, Extract, Permute
from tilewright.tileir.types import Type


def assign_layouts(c: Compilation) -> None:
    """Needs `plan.warps` (see choose_warps)."""
    function = c.function
    classes = Classes(c)
    warps = c.plan.warps
    products = _layouts_of(classes.products, warps)
    brought = brought_loads(c) if any(p.unit.reads_shared for p in products) else ()
    turned = _Chooser(classes, warps, products, brought).run()
    _Inserter(classes, warps, products, turned).run(function)


@dataclass(frozen=True)
class _Chooser:
    """Sets `layout` of every class; `run` gives that of those whose values threads turn for a unit."""

    classes: Classes
    warps: int
    products: Mapping[Product, ProductLayouts]
    brought: Collection[Op]

    def run(self) -> Mapping[LayoutClass, Layout]:
        every = list(dict.fromkeys(self.classes.of.values()))
        fixed: list[LayoutClass] = []
        for op, layouts in self.products.items():
            accumulators = self.classes.of[op.result]
            if accumulators.layout is None:
                accumulators.layout = layouts.acc
                fixed.append(accumulators)
        fixed += self._fragments()
        turned = self._turned()
        fixed += turned
        for found in fixed:  # which grows by what has the same elements in the same threads, whoever stores them
            for edge in found.edges:
                source, moved, layout, _ = self._sides(edge)
                if isinstance(edge, Permute) and source is found and layout and moved and moved.layout is None:
                    moved.layout = rule_of(edge).forward(edge, layout)
                    fixed.append(moved)
            self._spread(found)
        for found in sorted((c for c in every if c.anchors and c.layout is None), key=lambda c: -c.importance):
            self._choose(found)
            self._spread(found)
        for found in every:
            if found.layout is None:
                found.layout = row_major(found.shape, self.warps)
                self._spread(found)
        return turned

    def _fragments(self) -> list[LayoutClass]:
        """Sets the layout of A operands that threads hold, and read or compute from loads by TMA: threads can read a
        ring in any layout."""
        out = []
        for op, layouts in self.products.items():
            found = self.classes.of.get(op.a)
            if not holds_a(self.classes.unit, op) or found is None or found.layout is not None:
                continue
            anchors = found.anchors or self.classes.of[source_of(op.a)[0]].anchors
            if all(a.op in self.brought for a in anchors):
                self._lead(op.a, layouts.a)
                out.append(found)
        return out

    def _lead(self, value: Value, layout: Layout) -> None:
        """Sets the layout of the class of an operand, and of those that it is only moved from."""
        found = self.classes.of[value]
        found.layout = layout
        for move in source_of(value)[1]:
            above = self.classes.of[move.operands[0]]
            if above is not found:
                above.layout, found = rule_of(move).backward(move, found.layout), above

    def _turned(self) -> dict[LayoutClass, Layout]:
        """Sets the layout of operands that TMA loads, and that threads turn for a unit that cannot."""
        out: dict[LayoutClass, Layout] = {}
        products = [op for op in self.products if not op.unit.transposes(op)]
        operands = ((op, *found) for op in products for found in _staged(self.classes.unit, op))
        for op, value, k_axis in operands:
            found, dense, source = self.classes.of.get(value), dense_axis(value), source_of(value)[0]
            if found is None or found.layout is not None or dense is None or dense == k_axis:
                continue
            anchors = found.anchors or self.classes.of[source].anchors
            if anchors and all(a.op in self.brought for a in anchors):
                size, buffer = value.type.dtype.bytes, staged_type(op, value, k_axis).layout
                slot = bulk_layout(found.shape, dense, size)
                out[found] = turning_layout(slot, buffer, (dense, k_axis), size, self.warps)
                self._lead(value, out[found])
        return out

    def _choose(self, found: LayoutClass) -> None:
        every = dict.fromkeys([*(a.access.preferred(self.warps) for a in found.anchors), *self._from_neighbours(found)])
        found.layout = patch(self.classes.unit, (a.op for a in found.anchors), self.warps) or min(
            every, key=lambda layout: self._cost(found, layout))

    def _from_neighbours(self, found: LayoutClass) -> list[Layout]:
        """The layouts that make an edge free whose other class already has a layout."""
        out = []
        for op in found.edges:
            source, result, s, r = self._sides(op)
            if result is found and s is not None:
                out.append(rule_of(op).forward(op, s))
            elif source is found and r is not None:
                out.append(rule_of(op).backward(op, r))
            elif source is found and isinstance(op, Extract) and is_tile(op.result):
                out.append(rule_of(op).backward(op, row_major(op.shape, self.warps)))
        return [layout for layout in out if layout is not None]

    def _cost(self, found: LayoutClass, layout: Layout) -> int:
        cost = sum(_anchor_cost(a, layout, self.warps) for a in found.anchors)
        for op in found.edges:
            source, result, s, r = self._sides(op)
            s, r = layout if source is found else s, layout if result is found else r
            if s is not None and r is not None:
                cost += _edge_cost(op, s, r, found.element_bytes)
            if s is not None and isinstance(op, Extract) and is_tile(op.result):
                cost += _extract_cost(op, s, found.element_bytes)
        return cost

    def _sides(self, op: Op) -> tuple[LayoutClass | None, LayoutClass | None, Layout | None, Layout | None]:
        """The classes of an op's source and result, and their layouts so far."""
        source, result = (self.classes.of.get(v) for v in (op.operands[0], op.results[0]))
        return source, result, source.layout if source else None, result.layout if result else None

    def _spread(self, start: LayoutClass) -> None:
        """Propagate layouts to neighbours without a memory access of their own."""
        work = [start]
        while work:
            here = work.pop()
            for op in here.edges:
                for value in (op.operands[0], op.results[0]):
                    other = self.classes.of.get(value)
                    if other is None or other.layout is not None or other.anchors:
                        continue
                    if self._from_neighbours(other):
                        self._choose(other)
                        work.append(other)


def _anchor_cost(anchor: Anchor, layout: Layout, warps: int) -> int:
    return anchor.weight * min(anchor.access.cost(layout), _split_cost(anchor, layout, warps))


def _split_cost(anchor: Anchor, layout: Layout, warps: int) -> int:
    """The cost if the access uses its preferred layout and a conversion stands between."""
    if not anchor.splits:
        return 1 << 40
    own = anchor.access.preferred(warps)
    pair = (own, layout) if isinstance(anchor.op, Load) else (layout, own)
    return anchor.access.cost(own) + conversion_cost(*pair, anchor.access.element_bytes)


def _edge_cost(op: Op, source: Layout, result: Layout, element_bytes: int) -> int:
    takes, gives = meet(op, source, result)
    return conversion_cost(source, takes, element_bytes) + conversion_cost(gives, result, element_bytes)


def _extract_cost(op: Extract, source: Layout, element_bytes: int) -> int:
    """What it costs that lanes or warps hold different sub-tiles, where they need not: the tile goes through memory."""
    free = transform.extract(source, op.shape) is not None or not in_registers(op)
    return 0 if free else registers(source) * element_bytes


class _Inserter:
    """Writes layouts into the types, copies cheap values for their users, and inserts conversions."""

    def __init__(self, classes: Classes, warps: int, products: Mapping[Product, ProductLayouts],
                 turned: Mapping[LayoutClass, Layout]) -> None:
        self.classes = classes
        self.turned = turned
        self.warps = warps
        self.products = products
        self.own: dict[Value, Layout] = {}  # values whose layout is not that of their class
        self.takes: dict[Op, Layout] = {}  # what shape-changing ops need
        self.made: dict[tuple[Value, Type], Value] = {}
        self.after: dict[Op | Block, list[Op]] = {}

    def run(self, function: Function) -> None:
        ops = list(function.walk())
        for op in ops:
            self._decide_results(op)
        for op in ops:
            for block in op.blocks:
                self._set_types(block.params)
            self._set_types(op.results)
        for op in ops:
            if not any(r in self.classes.cheap for r in op.results):
                self._feed(op)
        self._rebuild(function.body)

    def layout_of(self, value: Value) -> Layout:
        """The layout of a value at its definition; not for cheap values."""
        layout = self.own.get(value) or self.classes.of[value].layout
        assert layout is not None
        return layout

    def _set_types(self, values: Sequence[Value]) -> None:
        for value in values:
            if is_tile(value) and value not in self.classes.cheap:
                value.lay_out(self.layout_of(value))

    def _source_layout(self, value: Value) -> Layout:
        """The layout of a shape-changing op's source."""
        return row_major(value.type.shape, self.warps) if value in self.classes.cheap else self.layout_of(value)

    def _decide_results(self, op: Op) -> None:
        """Record the results whose layout differs from that of their class."""
        if isinstance(op, Load) and is_tile(op.result):
            anchor = self.classes.anchors[op]
            wanted = self.layout_of(op.result)
            if anchor.access.cost(wanted) > _split_cost(anchor, wanted, self.warps):
                self.own[op.result] = anchor.access.preferred(self.warps)
        if isinstance(op, Product):
            self.own[op.result] = self.products[op].acc
        if RULES.of(op) is not None and is_tile(op.operands[0]) and op.results[0] not in self.classes.cheap:
            self.takes[op] = source = self._source_layout(op.operands[0])
            if is_tile(op.results[0]):
                self.takes[op], self.own[op.results[0]] = meet(op, source, self.layout_of(op.results[0]))

    def _feed(self, op: Op) -> None:
        """Give an op its operands in the layouts that it needs."""
        if op.blocks and not isinstance(op, Fold):
            self._feed_carried(op)
        elif isinstance(op, Product):
            self._feed_product(op)
        elif not op.terminator:  # these are fed by the op whose body they end
            op.replace_operands({v: self._in_layout(v, self.takes.get(op) or self._group_layout(op, v))
                                 for v in op.operands if is_tile(v)})

    def _feed_product(self, op: Product) -> None:
        """A unit that reads B from shared memory reads A from there too if it cannot take A from registers, or if no
        thread computes A."""
        wanted, shared = self.products[op], op.unit.reads_shared
        op.acc = self._in_layout(op.acc, wanted.acc)
        if isinstance(op, MmaScaledSync):
            op.a_scale, op.b_scale = map(self._in_layout, op.scales, scale_layouts(wanted.acc, op.a_scale.type.shape))
        in_registers = not shared or not any(value is op.a for value, _ in _staged(self.classes.unit, op))
        op.a = self._in_layout(op.a, wanted.a) if in_registers else self._staged(op, op.a, 1)
        op.b = self._staged(op, op.b, 0) if shared else self._in_layout(op.b, wanted.b)

    def _staged(self, op: Product, value: Value, k_axis: int) -> Value:
        """The operand, staged in shared memory."""
        type_ = staged_type(op, value, k_axis)
        if value in self.classes.cheap:
            value = self._in_layout(value, row_major(value.type.shape, self.warps))
        elif self.classes.of[value] in self.turned:
            value = self._in_layout(value, self.turned[self.classes.of[value]])
        return self._made(value, type_, lambda: Stage(src=value), op.span)

    def _feed_carried(self, op: Op) -> None:
        """Convert what enters or leaves bodies to the layouts of the variables that carry it."""
        if isinstance(op, control.For):
            self._feed_values(op, "init", op.loop.params[1:])
            self._feed_values(op.loop.terminator, "values", op.loop.params[1:])
        elif isinstance(op, control.While):
            self._feed_values(op, "init", op.before.params)
            self._feed_values(op.after.terminator, "values", op.before.params)
            self._feed_values(op.before.terminator, "values", op.after.params)
        elif isinstance(op, control.If):
            self._feed_values(op.then.terminator, "values", op.results)
            self._feed_values(op.orelse.terminator, "values", op.results)

    def _feed_values(self, user: Op, field: str, variables: Sequence[Value]) -> None:
        setattr(user, field, tuple(
            self._in_layout(value, self.layout_of(variable)) if is_tile(value) else value
            for value, variable in zip(getattr(user, field), variables, strict=True)))

    def _group_layout(self, op: Op, value: Value) -> Layout:
        """The layout that an op needs for an operand: that of its class; a store may have its own."""
        shape = value.type.shape
        same = [v for v in self.classes.groups.get(op, ()) if v.type.shape == shape]
        layout = self.classes.of[same[0]].layout if same else None
        if isinstance(op, Store):
            anchor = self.classes.anchors[op]
            if layout is None or anchor.access.cost(layout) > _split_cost(anchor, layout, self.warps):
                return anchor.access.preferred(self.warps)
        return layout or row_major(shape, self.warps)

    def _in_layout(self, value: Value, layout: Layout) -> Value:
        """The value in a layout: itself, a copy of a cheap op, or a conversion right after its definition."""
        type_ = value.type.with_layout(layout)
        if value in self.classes.cheap:
            return self._made(value, type_, lambda: self._copy(value, layout))
        if value.type == type_:
            return value
        if isinstance(value.op, Broadcast) and rule_of(value.op).backward(value.op, layout) is not None:
            return self._made(value, type_, lambda: self._copy(value, layout))  # less is converted
        return self._made(value, type_, lambda: ConvertLayout(src=value))

    def _copy(self, value: Value, layout: Layout) -> Op:
        """A cheap op once more, for a result with this layout."""
        op = value.op
        assert op is not None
        wanted = layout if RULES.of(op) is None else rule_of(op).backward(op, layout)
        assert wanted is not None
        return op.clone({v: self._in_layout(v, wanted) for v in op.operands if is_tile(v)})

    def _made(self, value: Value, type_: Type, make: Callable[[], Op], span: Span | None = None) -> Value:
        """The value as another type, made once, right after its definition."""
        key = (value, type_)
        if key not in self.made:
            op, owner = make(), value.owner
            assert owner is not None
            op.span = span or (owner.ops[0].span if isinstance(owner, Block) else owner.span)
            self.after.setdefault(owner, []).append(op)
            self.made[key] = op.results[0].retype(type_)
        return self.made[key]

    def _rebuild(self, block: Block) -> None:
        ops = self._made_after(block)
        for op in block.ops:
            for inner in op.blocks:
                self._rebuild(inner)
            if not any(r in self.classes.cheap for r in op.results):
                ops.append(op)
            ops += self._made_after(op)
        block.ops = ops

    def _made_after(self, owner: Op | Block) -> list[Op]:
        """The ops made for the values of an owner, each followed by those made for its own: a copy, then its stage."""
        return [op for made in self.after.get(owner, ()) for op in (made, *self._made_after(made))]


def _staged(unit: Unit, op: Product) -> list[tuple[Value, int]]:
    """The operands that the unit reads from shared memory, each with its axis k."""
    if not op.unit.reads_shared:
        return []
    return [(op.b, 0)] if holds_a(unit, op) else [(op.a, 1), (op.b, 0)]


def _layouts_of(products: Sequence[Product], warps: int) -> dict[Product, ProductLayouts]:
    """(acc, a, b) of each MMA. If the result of one MMA becomes A of another, element by element, each warp owns whole
    rows of it: the fragments then stay in the thread."""
    handed_on = any(is_of_sums(op.a) for op in products)
    return {op: op.unit.layouts(op, warps, handed_on) for op in products}
