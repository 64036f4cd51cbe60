"""Join neighbouring blocks of a grid: one block computes the tiles of two, with twice as many rows, say. The reverse of
`cut_tiles`: what both load alike, they load once.

    before: %i: i32 = block_id(axis=0)
            %a: tile<64x64xbf16> = load(array=%x, index=(%i, %k), steps=(64, 64), ...)
            %b: tile<64x128xbf16> = load(array=%y, index=(%k, %j), ...)
            %d: tile<64x128xf32> = mma(a=%a, b=%b, acc=%c)
    after:  %0: i32 = block_id(axis=0)                            // the grid has half as many blocks along its axis 0
            %a: tile<128x64xbf16> = load(array=%x, index=(%0, %k), steps=(128, 64), ...)
            %b: tile<64x128xbf16> = load(array=%y, index=(%k, %j), ...)
            %d: tile<128x128xf32> = mma(a=%a, b=%b, acc=%c)

A tile that depends on the block's number has the elements of the first block in its first half, those of the second in
its second one: all such tiles must be cut along one axis by `analysis/axes.py`, be loaded and stored where the block's
number says, or count on from one block to the next (rows = i * 64 + arange(64)).

A loop of which one block runs more iterations runs those of both, and goes on; beyond the other one's end, what it
carries keeps the other one's elements:

    before: %r = for(lower=%l, upper=%n, ...) .loop(%k: i32, %acc: tile<64x64xf32>) { ... yield(values=(%new)) }
    after:  %s = for(lower=%l, upper=min(%n0, %n1), ...) .loop(%k: i32, %acc: tile<128x64xf32>) { ... }
            %r = for(lower=min(%n0, %n1), upper=max(%n0, %n1), init=(%s), ...) .loop(%k, %acc) {
                ...
                yield(values=(select(%k < (%n0 or %n1 by row), %new, %acc)))
            }

Each element is computed by the same ops. Sums may take another order, as a target chooses it by the tile: on a GPU,
those of iterations that one block alone runs. Blocks must not wait for each other: kernels with atomics, ordered
accesses and loops that are not counted are not joined.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any, NamedTuple

from tilewright.tileir.analysis.axes import Axes, is_tile
from tilewright.tileir.analysis.linear import Forms
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.builder import Builder
from tilewright.tileir.carried import carried
from tilewright.tileir.core import Block, Op, Value
from tilewright.tileir.dtypes import int32
from tilewright.tileir.ops import arith
from tilewright.tileir.ops.arrays import BlockId, NumBlocks
from tilewright.tileir.ops.atomics import Atomic
from tilewright.tileir.ops.control import For, If, While, Yield
from tilewright.tileir.ops.convert import Cast
from tilewright.tileir.ops.memory import Gather, Scatter, TileAccess
from tilewright.tileir.ops.shape import Broadcast, Iota, Permute, Reshape
from tilewright.tileir.passes.cut_tiles import unshare
from tilewright.tileir.passes.dce import dce
from tilewright.tileir.rewrite import Rewriter, rewrite

TWO = 2  # blocks become one


class Join(NamedTuple):
    """The axis of the grid, the tiles that become longer, each with its axis, all that differs between blocks, and the
    loops that end sooner in one."""

    axis: int
    chosen: Mapping[Value, int]
    varying: frozenset[Value]
    uneven: frozenset[Op]


def find_join(unit: Unit, axis: int) -> Join | None:
    """How neighbours along an axis of the grid become one block; None where they cannot. Constants are unshared."""
    ops = list(unit.function.walk())
    ids = frozenset(op.result for op in ops if isinstance(op, BlockId) and op.axis == axis)
    if not ids or any(isinstance(op, While | Atomic) or op.effects().ordered or op.effects().io for op in ops):
        return None
    pairs = _Pairs(Forms(unit.facts), ids)
    varying = _varying(ops, pairs)
    chosen = None if varying is None else _chosen(unit, ops, varying)
    if varying is None or not chosen:
        return None
    uneven = frozenset(op for op in ops if pairs.ends(op, varying))
    found = _Found(pairs.forms, unit.uses, ids, varying, chosen, uneven)
    return Join(axis, chosen, varying, uneven) if all(map(found.allows, ops)) else None


class _Pairs(NamedTuple):
    """What is the same in the blocks 2 b and 2 b + 1 although it is computed from their numbers."""

    forms: Forms
    ids: frozenset[Value]

    def alike(self, op: Op, varying: Container[Value]) -> bool:
        """Whether a quotient is the same, by a number of which blocks count on."""
        if not isinstance(op, arith.CeilDiv | arith.FloorDiv) or not isinstance(op.rhs.op, arith.Constant):
            return False
        return self.quotient(op.lhs, op.rhs.op.value, isinstance(op, arith.CeilDiv), varying)

    def quotient(self, value: Value, divisor: Any, up: bool, varying: Container[Value]) -> bool:
        """Whether value / divisor, rounded up or down, is: least and greatest numbers are where both of these are."""
        if value not in varying:
            return True
        if isinstance(value.op, arith.Min | arith.Max):
            return all(self.quotient(v, divisor, up, varying) for v in value.op.operands)
        form = self.forms.of(value)
        if divisor <= 0 or form is None or form.along or len(form.terms) != 1:
            return False
        [(number, factor)] = form.terms
        first, second = form.number, form.number + factor
        return number in self.ids and TWO * factor % divisor == 0 and (
            -(-first // divisor) == -(-second // divisor) if up else first // divisor == second // divisor)

    def ends(self, op: Op, varying: Container[Value]) -> bool:
        """Whether a loop ends sooner in one block."""
        return isinstance(op, For) and op.upper in varying and not (
            isinstance(op.step.op, arith.Constant) and isinstance(op.lower.op, arith.Constant)
            and op.lower.op.value == 0 and self.quotient(op.upper, op.step.op.value, True, varying))


def _varying(ops: list[Op], pairs: _Pairs) -> frozenset[Value] | None:
    """The values that differ between blocks along the axis; None where these take different branches."""
    found, before = set(pairs.ids), 0
    while len(found) > before:
        before = len(found)
        for op in ops:
            if isinstance(op, For) and (op.lower in found or op.step in found):
                return None
            if isinstance(op, If) and op.cond in found:
                return None
            ends = pairs.ends(op, found)
            for group in carried(op):
                if ends or not found.isdisjoint(group):
                    found.update(group)
            if not op.blocks and not found.isdisjoint(op.operands) and not pairs.alike(op, found):
                found.update(op.results)
    return frozenset(found)


def _chosen(unit: Unit, ops: list[Op], varying: frozenset[Value]) -> dict[Value, int] | None:
    """The tiles that are one behind the other: those at places that differ, and what is computed with them."""
    axes, chosen = Axes(unit.function, 1), dict[Value, int]()
    for op in ops:
        if isinstance(op, TileAccess) and is_tile(op.tile):
            for axis in (axis for axis, place in enumerate(op.index) if place in varying):
                nodes = axes.component((op.tile, axis))
                if axes.conflict(nodes, chosen) is not None:
                    return None
                chosen.update(nodes)
    return chosen


class _Found(NamedTuple):
    """What is asked of each op."""

    forms: Forms
    uses: Mapping[Value, list[Op]]
    ids: frozenset[Value]
    varying: frozenset[Value]
    chosen: Mapping[Value, int]
    uneven: frozenset[Op]

    def allows(self, op: Op) -> bool:
        """Whether an op may work on the tiles of two blocks, or on numbers of the first one."""
        if any(v in self.varying and (v not in self.chosen if is_tile(v) else op.effectful or bool(op.blocks))
               for v in op.results):
            return False
        if isinstance(op, TileAccess) and is_tile(op.tile):
            return self._moves(op)
        if isinstance(op, Iota) and op.result in self.chosen:
            fits = op.size * TWO - 1 <= op.dtype.int_range[1]  # one that wraps would count anew
            return fits and self._only_counts(op.result)
        numbers = [v for v in op.operands if v in self.varying and not is_tile(v)]
        if isinstance(op, For):
            return self._lasts(op)
        if not numbers:
            return True
        if isinstance(op, Broadcast):
            return self._only_counts(op.result)
        return op.elementwise and not is_tile(op.results[0])

    def _moves(self, op: TileAccess) -> bool:
        """Whether the tile lies where the block's number alone says, along its axis, as one behind that of the block
        before; or nowhere else in any block."""
        axis = self.chosen.get(op.tile)
        places = [axis for axis, place in enumerate(op.index) if place in self.varying]
        if axis is None or places != [axis] or op.steps[axis] != op.tile.type.shape[axis]:
            return axis is None and not places
        form = self.forms.of(op.index[axis])
        return form is not None and not form.number and [n for v, n in form.terms if v in self.ids] == [1] and (
            len(form.terms) == 1)

    def _lasts(self, op: For) -> bool:
        """Whether a loop may go on for one of two blocks."""
        if op not in self.uneven:
            return True
        return all(v in self.chosen for v in op.results) and not any(
            inner.acts or self._promises(inner) for inner in op.inside())

    def _promises(self, op: Op) -> bool:
        """Whether a gather promises to be inside, which holds for iterations of its own block alone."""
        return isinstance(op, Gather) and not op.check_bounds and op.result in self.chosen

    def _only_counts(self, value: Value) -> bool:
        """Whether a tile is but added to one that makes the sum count on from one block to the next."""
        for user in self.uses.get(value, ()):
            if isinstance(user, Reshape | Permute | Cast) or (isinstance(user, Broadcast) and value.type.shape):
                if not self._only_counts(user.results[0]):
                    return False
            elif not (isinstance(user, arith.Add) and self._counts_on(user)):
                return False
        return True

    def _counts_on(self, op: arith.Add) -> bool:
        made = {type(_source(v).op) for v in (op.lhs, op.rhs)}
        axis, form = self.chosen.get(op.result), self.forms.of(op.result)
        if axis is None or form is None or made != {Broadcast, Iota}:
            return False
        differs = [(v in self.ids, n) for v, n in form.terms if v in self.varying]
        return differs == [(True, op.result.type.shape[axis])] and dict(form.along).get(axis) == 1


def _source(value: Value) -> Value:
    """What a tile has its elements of."""
    op = value.op
    if isinstance(op, Reshape | Permute | Cast) or (isinstance(op, Broadcast) and op.src.type.shape):
        return _source(op.src)
    return value


def join_most(unit: Unit, pays: Callable[[Join], bool]) -> tuple[int, ...]:
    """Join blocks along the axes of the grid, two at a time, for as long as that is possible and pays. Gives how many
    of each axis become one; nothing where all stay alone."""
    counts = [1, 1]
    for axis in range(len(counts)):
        while (join := _next(unit, axis)) is not None and pays(join):
            join_blocks(unit, join)
            counts[axis] *= TWO
    return tuple(counts) if max(counts) > 1 else ()


def join_all(unit: Unit, counts: Sequence[int]) -> None:
    """Join so many blocks of each axis, as `join_most` has found them."""
    for axis, count in enumerate(counts):
        while count > 1 and (join := _next(unit, axis)) is not None:
            join_blocks(unit, join)
            count //= TWO
        assert count == 1, f"blocks of axis {axis} cannot be joined"


def _next(unit: Unit, axis: int) -> Join | None:
    unshare(unit.function)
    unit.forget()
    return find_join(unit, axis)


def join_blocks(unit: Unit, join: Join) -> None:
    """Make one block of two."""
    for value, axis in join.chosen.items():
        shape = list(value.type.shape)
        shape[axis] *= TWO
        value.reshape(tuple(shape))
    joined = _Joined(unit, join)
    rewrite(unit.function, joined.rule)
    unit.function.body.ops[:0] = joined.top
    unit.forget()
    dce(unit)


class _Joined:
    def __init__(self, unit: Unit, join: Join) -> None:
        top = Builder(Block(), unit.function.span)
        self.join = join
        self.number = top.value(BlockId(axis=join.axis))
        self.two = top.number(TWO)
        self.first = top.value(arith.Mul(lhs=self.number, rhs=self.two))
        self.second = top.value(arith.Add(lhs=self.first, rhs=top.number(1)))
        self.top = top.block.ops

    def rule(self, b: Rewriter, op: Op) -> None:
        if isinstance(op, BlockId) and op.axis == self.join.axis:
            b.replace(op.result, self.first)
            return
        if isinstance(op, Iota) and op.result in self.join.chosen:
            op.size *= TWO
        elif isinstance(op, arith.Constant):
            op.type = op.result.type
        elif isinstance(op, TileAccess) and op.tile in self.join.chosen:
            self._access(b, op)
        elif isinstance(op, For) and op in self.join.uneven:
            self._last(b, op)
            return
        if "shape" in op.fields:
            tile = op.value if isinstance(op, Scatter) else op.results[0]
            if is_tile(tile):
                op.shape = tile.type.shape  # type: ignore[attr-defined]
        b.keep(op)
        if isinstance(op, NumBlocks) and op.axis == self.join.axis:
            b.replace(op.result, b.value(arith.Mul(lhs=op.result, rhs=self.two)))

    def _access(self, b: Rewriter, op: TileAccess) -> None:
        axis = self.join.chosen[op.tile]
        place = b.cast(self.number, op.index[axis].type.dtype)
        op.steps = (*op.steps[:axis], op.steps[axis] * TWO, *op.steps[axis + 1:])
        op.index = (*op.index[:axis], place, *op.index[axis + 1:])

    def _last(self, b: Rewriter, op: For) -> None:
        """Run the loop for as long as both blocks do, and go on for as long as one does."""
        ends = op.upper, self._of_second(b, op.upper, {})
        op.upper = b.value(arith.Min(lhs=ends[0], rhs=ends[1]))
        b.keep(op)
        mapping: dict[Value, Value] = {}
        tail = op.clone(mapping)
        assert isinstance(tail, For)
        tail.lower = self._behind(b, op)
        tail.upper = b.value(arith.Max(lhs=ends[0], rhs=ends[1]))
        tail.init = op.results
        number, old, end = tail.loop.params[0], tail.loop.params[1:], tail.loop.ops.pop()
        inside = Builder(tail.loop, op.span)
        axes = [self.join.chosen[v] for v in op.results]
        kept = [self._kept(inside, number, ends, *values) for values in zip(end.operands, old, axes, strict=True)]
        inside.emit(Yield(values=tuple(kept)))
        b.keep(tail)
        for one, other in zip(op.results, tail.results, strict=True):
            b.replace(one, other)

    def _behind(self, b: Rewriter, op: For) -> Value:
        """The number after a loop's last one."""
        end = b.value(arith.Max(lhs=op.lower, rhs=op.upper))
        if isinstance(op.step.op, arith.Constant) and op.step.op.value == 1:
            return end
        trips = b.value(arith.CeilDiv(lhs=b.value(arith.Sub(lhs=end, rhs=op.lower)), rhs=op.step))
        return b.value(arith.Add(lhs=op.lower, rhs=b.value(arith.Mul(lhs=trips, rhs=op.step))))

    def _of_second(self, b: Rewriter, value: Value, made: dict[Value, Value]) -> Value:
        """The number that the second block has where the first one has this."""
        if value is self.first:
            return self.second
        if value not in self.join.varying or value.op is None:
            return value
        if value not in made:
            mapping = {v: self._of_second(b, v, made) for v in value.op.operands}
            made[value] = b.value(value.op.clone(mapping))
        return made[value]

    def _kept(
        self, b: Builder, number: Value, ends: tuple[Value, Value], new: Value, old: Value, axis: int,
    ) -> Value:
        """The elements of the block that is in the loop yet, and those that the other one has left it with."""
        shape = new.type.shape
        length = shape[axis]

        def spread(value: Value) -> Value:
            return b.value(Broadcast(src=value, shape=(length,)))

        here = b.value(arith.Lt(lhs=b.value(Iota(size=length, dtype=int32)), rhs=spread(b.number(length // TWO))))
        end = b.value(arith.Select(cond=here, lhs=spread(ends[0]), rhs=spread(ends[1])))
        going = b.value(arith.Lt(lhs=spread(number), rhs=end))
        alone = tuple(n if i == axis else 1 for i, n in enumerate(shape))
        if len(shape) > 1:
            going = b.value(Broadcast(src=b.value(Reshape(src=going, shape=alone)), shape=shape))
        return b.value(arith.Select(cond=going, lhs=new, rhs=old))
