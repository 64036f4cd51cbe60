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

What every iteration computes alike moves above the loop. Where the kernel computes the number of a block from its
coordinates (%j * %x + %i, as `group_grid` does), that is %n.

A kernel may not depend on which blocks run at the same time unless one waits for another, which takes atomics: a
backend asks for this only where `SharedReads` finds the order of blocks without a meaning.
"""

from __future__ import annotations

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
from tilewright.tileir.passes.cse import cse
from tilewright.tileir.passes.dce import dce
from tilewright.tileir.passes.licm import licm
from tilewright.tileir.rewrite import Rewriter, rewrite
from tilewright.tileir.types import TileType


def walk_grid(unit: Unit) -> None:
    """Afterwards there is no `block_id`."""
    function = unit.function
    *ops, end = function.body.ops
    top = Builder(Block(), function.span)
    start, step = top.value(LaunchedBlock()), top.value(LaunchedBlocks())
    sizes = [top.cast(top.value(NumBlocks(axis=axis)), uint32) for axis in range(3)]
    plane = top.value(arith.Mul(lhs=sizes[0], rhs=sizes[1]))
    upper = top.cast(top.value(arith.Mul(lhs=plane, rhs=sizes[2])), int32)
    with top.into([TileType(int32)], ["block"]) as body:
        places = _Places(top, body.params[0], sizes, plane)
        body.ops += ops
        top.emit(Yield(values=()))
    top.emit(For(lower=start, upper=upper, step=step, init=(), loop=body))
    function.body.ops = [*top.block.ops, end]
    rewrite(function, {BlockId: places.of_axis, arith.Add: places.of_sum})
    for tidy in (licm, cse, dce):
        unit.forget(NONE)
        tidy(unit)
    unit.forget(NONE)
    _sink(unit, body)
    unit.forget(NONE)


class _Places:
    """What stands for the coordinates of a block, and for the numbers that a kernel computes of them."""

    def __init__(self, b: Builder, number: Value, sizes: list[Value], plane: Value) -> None:
        self.sizes, every = sizes, b.cast(number, uint32)
        flat = b.value(arith.Eq(lhs=sizes[2], rhs=b.number(1, uint32)))
        with b.into() as then:
            b.emit(Yield(values=(every, b.number(0, uint32))))
        with b.into() as orelse:
            b.emit(Yield(values=_divided(b, every, plane)))
        inside, z = b.emit(If(cond=flat, then=then, orelse=orelse)).results
        self.numbers = {1: inside, 2: every}  # of the first two axes, and of all, by the last one
        x, y = _divided(b, inside, sizes[0])
        most = b.number(LARGEST_GRID - 1, uint32)  # so that facts know the range
        self.coordinates = [b.cast(b.value(arith.Min(lhs=place, rhs=most)), int32) for place in (x, y, z)]

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
