"""Let each block that is launched do the work of several blocks of the grid, one after another.

    before: %i: i32 = block_id(axis=0)
            %j: i32 = block_id(axis=1)
            ...
    after:  %first: i32 = launched_block()
            %launched: i32 = launched_blocks()
            for(lower=%first, upper=%x * %y * %z, step=%launched) .loop(%n: i32) {     // %x = num_blocks(axis=0), ...
                %i: i32 = %n % %x                                                       // where %z is 1
                %j: i32 = %n // %x
                ...
            }

Where blocks have fewer and fewer iterations along axis 0 (attention below a diagonal), launched blocks take them from
the longest to the shortest, to and fro, so that all have about the same to do. They do so section by section, of some
blocks for each launched one, that those which run at once read the same; each section begins with another launched
block:

            for(lower=%zero, upper=%sections, step=%one) .loop(%s: i32) {               // %r rows in each, of %x blocks
                %f: i32 = (%first + 53 * %s) % %launched
                for(lower=%zero, upper=%trips, step=%one) .loop(%n: i32) {
                    %b: i32 = %n * %launched + (%n % 2 == 0 ? %f : %launched - 1 - %f)
                    %i: i32 = %b // %r
                    %j: i32 = %s * %r + %b % %r
                    ...

What every iteration computes alike moves above the loop. Where the kernel computes the number of a block from its
coordinates (%j * %x + %i, as `group_grid` does), that is %n.

A kernel may not depend on which blocks run at the same time unless one waits for another, which takes atomics: a
backend asks for this only where `SharedReads` finds the order of blocks without a meaning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilewright.tileir.analysis.axes import is_tile
from tilewright.tileir.analysis.facts import LARGEST_GRID
from tilewright.tileir.analysis.unit import NONE, Unit
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Block, Value
from tilewright.tileir.dtypes import int32, uint32
from tilewright.tileir.ops import arith
from tilewright.tileir.ops.arrays import BlockId, LaunchedBlock, LaunchedBlocks, NumBlocks
from tilewright.tileir.ops.control import For, If, Yield
from tilewright.tileir.ops.convert import Cast
from tilewright.tileir.passes.add_once import add_once
from tilewright.tileir.passes.cse import cse
from tilewright.tileir.passes.dce import dce
from tilewright.tileir.passes.licm import licm
from tilewright.tileir.rewrite import Rewriter, rewrite
from tilewright.tileir.types import TileType

# Blocks of a section for each launched one, at least, if there are so many: with 128 rows of 128 channels those of keys
# and values take 25 MB then. Where the next section begins, about 0.4 of the launched blocks further.
EACH, TURN = 3, 53


def walk_grid(unit: Unit, falling: bool = False) -> None:
    """Afterwards there is no `block_id`. `falling`: blocks have fewer and fewer iterations along axis 0."""
    function = unit.function
    *ops, end = function.body.ops
    top = Builder(Block(), function.span)
    start, step = top.value(LaunchedBlock()), top.value(LaunchedBlocks())
    sizes = [top.cast(top.value(NumBlocks(axis=axis)), uint32) for axis in range(3)]
    if falling:
        shares = _Shares(top, top.cast(start, uint32), top.cast(step, uint32), sizes)
        with top.into([TileType(int32)], ["section"]) as sections:
            shares.enter(sections.params[0])
            with top.into([TileType(int32)], ["trip"]) as body:
                places = shares.of_trip(body.params[0])
                body.ops += ops
                top.emit(Yield(values=()))
            top.emit(For(lower=top.number(0), upper=shares.trips, step=top.number(1), init=(), loop=body))
            top.emit(Yield(values=()))
        top.emit(For(lower=top.number(0), upper=shares.sections, step=top.number(1), init=(), loop=sections))
    else:
        plane = top.value(arith.Mul(lhs=sizes[0], rhs=sizes[1]))
        upper = top.cast(top.value(arith.Mul(lhs=plane, rhs=sizes[2])), int32)
        with top.into([TileType(int32)], ["block"]) as body:
            places = _in_order(top, body.params[0], sizes, plane)
            body.ops += ops
            top.emit(Yield(values=()))
        top.emit(For(lower=start, upper=upper, step=step, init=(), loop=body))
    function.body.ops = [*top.block.ops, end]
    rewrite(function, {BlockId: places.of_axis, arith.Add: places.of_sum})
    for tidy in (licm, cse, dce):
        unit.forget(NONE)
        tidy(unit)
    unit.forget(NONE)
    if add_once(unit):
        unit.forget(NONE)
        dce(unit)
    unit.forget(NONE)
    _sink(unit, body)
    unit.forget(NONE)


class _Places:
    """What stands for the coordinates of a block, and for the numbers that a kernel computes of them: `numbers` of the
    first two axes and of all, by the last one."""

    def __init__(self, sizes: list[Value], coordinates: Sequence[Value], numbers: Mapping[int, Value]) -> None:
        self.sizes, self.coordinates, self.numbers = sizes, coordinates, numbers

    def of_axis(self, b: Rewriter, op: BlockId) -> None:
        b.replace(op.result, self.coordinates[op.axis])

    def of_sum(self, b: Rewriter, op: arith.Add) -> None:
        last = self._last(op.result, 0)
        if last in self.numbers and op.result.type.dtype is uint32:
            b.replace(op.result, self.numbers[last])
        else:
            b.keep(op)

    def _last(self, value: Value, axis: int) -> int:
        """The last axis of those, from `axis` on, whose coordinates a value numbers, axis `axis` fastest; -1 if it is
        no such number."""
        if _bare(value) is _bare(self.coordinates[axis]):
            return axis
        op = value.op
        if axis < 2 and isinstance(op, arith.Add) and _bare(op.rhs) is _bare(self.coordinates[axis]):
            rows = op.lhs.op
            if isinstance(rows, arith.Mul) and _is_size(rows.rhs, axis):
                return self._last(rows.lhs, axis + 1)
        return -1


def _in_order(b: Builder, number: Value, sizes: list[Value], plane: Value) -> _Places:
    every = b.cast(number, uint32)
    inside, z = _planes(b, every, sizes, plane)
    x, y = _divided(b, inside, sizes[0])
    return _Places(sizes, _as_coordinates(b, x, y, z), {1: inside, 2: every})


class _Shares:
    """Which blocks a launched one takes: `trips` of each of `sections`."""

    def __init__(self, b: Builder, first: Value, launched: Value, sizes: list[Value]) -> None:
        self.b, self.first, self.launched, self.sizes, self.one = b, first, launched, sizes, b.number(1, uint32)
        self.rows = self._times(sizes[1], sizes[2])
        every, each = self._times(sizes[0], self.rows), self._times(launched, b.number(EACH, uint32))
        wanted = b.value(arith.Max(lhs=b.value(arith.FloorDiv(lhs=every, rhs=each)), rhs=self.one))
        self.height = b.value(arith.CeilDiv(lhs=self.rows, rhs=wanted))
        self.sections = b.cast(b.value(arith.CeilDiv(lhs=self.rows, rhs=self.height)), int32)

    def _times(self, x: Value, y: Value) -> Value:
        return self.b.value(arith.Mul(lhs=x, rhs=y))

    def _less(self, x: Value, y: Value) -> Value:
        return self.b.value(arith.Sub(lhs=x, rhs=y))

    def _sum(self, x: Value, y: Value) -> Value:
        return self.b.value(arith.Add(lhs=x, rhs=y))

    def enter(self, section: Value) -> None:
        """What the iterations of a section have in common."""
        b, number = self.b, self.b.cast(section, uint32)
        self.above = self._times(number, self.height)
        self.here = b.value(arith.Min(lhs=self.height, rhs=self._less(self.rows, self.above)))
        turned = self._sum(self.first, self._times(number, b.number(TURN, uint32)))
        self.fro, _ = _divided(b, turned, self.launched)
        self.to = self._less(self._less(self.launched, self.one), self.fro)
        left, whole = _divided(b, self._times(self.here, self.sizes[0]), self.launched)
        more = b.value(arith.Lt(lhs=self._place(whole), rhs=left))
        self.trips = b.cast(self._sum(whole, b.value(arith.Select(cond=more, lhs=self.one, rhs=b.number(0, uint32)))),
                             int32)

    def _place(self, number: Value) -> Value:
        """The place of this launched block among all of them."""
        back = self.b.value(arith.Eq(lhs=self.b.value(arith.And(lhs=number, rhs=self.one)), rhs=self.one))
        return self.b.value(arith.Select(cond=back, lhs=self.to, rhs=self.fro))

    def of_trip(self, number: Value) -> _Places:
        now = self.b.cast(number, uint32)
        block = self._sum(self._times(now, self.launched), self._place(now))
        row, x = _divided(self.b, block, self.here)
        y, z = _planes(self.b, self._sum(self.above, row), self.sizes, self.sizes[1])
        return _Places(self.sizes, _as_coordinates(self.b, x, y, z), {})


def _planes(b: Builder, number: Value, sizes: list[Value], plane: Value) -> Sequence[Value]:
    """The number within a plane of so many, and the coordinate along the last axis, without a division where that is
    the only one."""
    flat = b.value(arith.Eq(lhs=sizes[2], rhs=b.number(1, uint32)))
    with b.into() as then:
        b.emit(Yield(values=(number, b.number(0, uint32))))
    with b.into() as orelse:
        b.emit(Yield(values=_divided(b, number, plane)))
    return b.emit(If(cond=flat, then=then, orelse=orelse)).results


def _as_coordinates(b: Builder, *places: Value) -> list[Value]:
    most = b.number(LARGEST_GRID - 1, uint32)  # so that facts know the range
    return [b.cast(b.value(arith.Min(lhs=place, rhs=most)), int32) for place in places]


def _sink(unit: Unit, body: Block) -> None:
    """Numbers that one branch alone uses are computed there: coordinates, where the others take the block's number."""
    homes = dict(unit.homes)
    for op in reversed(list(body.ops)):
        places = {homes[user] for result in op.results for user in unit.uses.get(result, ())}
        if len(places) != 1 or op.blocks or op.effectful or is_tile(op.results[0]):
            continue
        [place] = places
        if place is not body and isinstance(unit.parents[place], If):
            body.ops.remove(op)
            place.ops.insert(0, op)
            homes[op] = place


def _divided(b: Builder, x: Value, y: Value) -> tuple[Value, Value]:
    """Remainder and quotient."""
    quotient = b.value(arith.FloorDiv(lhs=x, rhs=y))
    return b.value(arith.Sub(lhs=x, rhs=b.value(arith.Mul(lhs=quotient, rhs=y)))), quotient


def _bare(value: Value) -> Value:
    return _bare(value.op.src) if isinstance(value.op, Cast) else value


def _is_size(value: Value, axis: int) -> bool:
    op = _bare(value).op
    return isinstance(op, NumBlocks) and op.axis == axis
