"""Run the blocks of a grid in another order, in groups of rows above all, so that those that run together read the same
tiles.

    before: %i: i32 = block_id(axis=0)
            %j: i32 = block_id(axis=1)
            for ...: load(array=%a, index=(%i, %k), ...); load(array=%b, index=(%k, %j), ...)
    after:  %n = block_id(axis=0) + num_blocks(axis=0) * block_id(axis=1)     // the place in the order of starts
            %first = %n // (8 * num_blocks(axis=1)) * 8                       // of the group's rows
            %inside = %n % (8 * num_blocks(axis=1))
            %i = %first + %inside % 8          // in the last group, % and // by the rows that are left
            %j = %inside // 8

A GPU starts blocks in the order of their numbers, axis 0 fastest. Those that run at once form a wave. With axis 0 alone
in it, a wave of W blocks reads W tiles of %a and one of %b in each step; in groups of G rows it reads G of %a and W / G
of %b. The sum of both is least where G tiles of %a take as many bytes as W / G of %b. Each group reads all of %b again.
Where that does not stay in L2, but lines of %a are so short that those of a larger group do, the group is larger; where
8 lines of %a do not stay in L2, it is of 8. Where tiles of %a and %b take as many bytes, and few, groups of a grid of
two axes are of 8, and of 4 where there are many rows. What the sizes of the arrays decide is computed by each block.

Loads decide, by the axes of the grid that their places are computed from: the order is the one in which a wave reads
and writes the fewest bytes, as if each axis were longer than a wave. Either two axes are grouped as above, and a third
one becomes the slowest; or one axis becomes the fastest (of attention, the blocks of queries that read one head's keys
and values). Whatever the kernel does with the tiles is not asked. Where a block reads the place of a tile from memory
(an expert's weights, a page), blocks may share more than can be seen, and keep the order of numbers.

A grid of one axis that the kernel divides into rows itself, by %n // columns and %n % columns, is one of two axes
(here the columns run fastest), if the blocks are a multiple of the columns; a kernel that computes its own groups
has loads that depend on both and stays as it is. So it is with the numbers of tiles over which blocks walk, in a loop
from a block's number by the number of blocks, where that loop may come to its tiles in any order.

Where blocks have fewer and fewer iterations along one axis (a causal mask), the order decides how well blocks of
different length fill the GPU. Row by row, only the last row ends a launch with short blocks: too few for all SMs. So as
many rows as fit a wave are one group, of both other axes: all their longest blocks, then the next ones. What a group
reads is no more than what a wave reads of rows that follow each other. Where rows lie side by side along a faster axis,
the longest blocks are first already.

A kernel may not depend on the order of its blocks unless one waits for another, which takes atomics: kernels with
atomics or ordered accesses, and with loops that are not counted, keep the order of numbers, as do those whose loops'
bounds depend on the block in another way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from math import ceil, log2, prod
from typing import NamedTuple

from tilewright.tileir.analysis.facts import LARGEST_GRID
from tilewright.tileir.analysis.shared_reads import ITERATIONS, Axes, SharedReads
from tilewright.tileir.analysis.trends import Trend, slope
from tilewright.tileir.analysis.unit import ALL, NONE, Preserved, Unit
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Block, Op, Value
from tilewright.tileir.dtypes import float32, int32, uint32
from tilewright.tileir.ops import arith
from tilewright.tileir.ops.arrays import BlockId, Extent, NumBlocks
from tilewright.tileir.ops.control import If, Yield
from tilewright.tileir.ops.math import Clz
from tilewright.tileir.passes.licm import licm
from tilewright.tileir.rewrite import Rewriter, rewrite

# Blocks that run at once: GPUs have 84 to 170 SMs, and the group changes with the square root alone.
WAVE = 128
# Groups whose lines may not stay in L2 have at most SMALL blocks, others at most LARGE.
SMALL, LARGE = 8, 64
# Where tiles of both operands take as many bytes, at most SMALL_TILE, groups are of SMALL, and of half of it from
# MANY rows on, however short lines are. On an H100 21 products by 128 x 128 x 64 took 0.935 of the time of groups of 8
# to 64, none more than 1.00. Larger tiles lose: 16384 x 16384 x 512 by 128 x 128 x 128 took 474 us in place of 449, by
# 256 x 256 x 64 519 in place of 487.
SMALL_TILE, MANY = 16 << 10, 33
# Bytes of lines that stay in L2 beside what else is read and written. On an H100 (50 MB): 8192^3 in tiles of 128 x 128
# took 1778 us in groups of 8 (16 MB), 1803 by 16, 2012 by 32; 16384 x 16384 x 512 in tiles of 128 x 256 took 543 us in
# groups of 8 (1 MB), 513 by 16, 496 by 32; 16384 x 1024 x 1024 changed by 2 percent.
KEPT = 8 << 20
# Another order takes two divisions before a block's first load: it must move so much less.
GAIN = 0.7
# Numbers of blocks up to here are exact in 32 bits, however the product of the grid's axes is rounded in float32.
MOST = 2.0**30


class Order(NamedTuple):
    """Blocks start in groups of `size` along axis `first`, each of all that lie side by side along axis `second`;
    without these two, all of axis `first` one after another. `share`: of the bytes that a wave moves in the order of
    numbers; None where the longest blocks of all rows along `first` that fit a wave run first."""

    first: int
    size: int | None
    second: int | None
    share: float | None


def group_grid(unit: Unit, tell: Callable[[Order], None], falling: int | None = None) -> Preserved:
    """`tell` is called with what has been chosen. `falling`: the axis along which blocks have fewer and fewer
    iterations, where that is known and loops do not show it any more."""
    reads = SharedReads(unit) if unit.has(BlockId) else None
    if reads is None or len(reads.axes) < 2 or reads.ordered or not reads.known:
        return ALL
    chosen = _longest_first(reads, falling) if reads.uneven else _choose(reads)
    if chosen is None:
        return ALL
    coordinates, places = reads.coordinates, dict[int, Value]()
    top = Builder(Block(), unit.function.span)
    if all(isinstance(value.op, BlockId) for value in coordinates):
        places = _Places(top, chosen, reads).of_axes()

    def rule(b: Rewriter, op: Op) -> None:
        axis = coordinates.get(op.results[0])
        if axis is None or (places and axis not in places):  # or the slowest one, which stays
            b.keep(op)
            return
        if not places:  # the first op that divides the number of the block
            places.update(_Places(b, chosen, reads).of_rows(*op.operands))
        b.replace(op.results[0], places[axis])

    rewrite(unit.function, {type(value.op): rule for value in coordinates if value.op is not None})
    unit.function.body.ops[:0] = top.block.ops
    if reads.walk is not None:  # what is the same for all tiles
        unit.forget(NONE)
        licm(unit)
    tell(chosen)
    return NONE


def _choose(reads: SharedReads) -> Order | None:
    """The order in which a wave moves the fewest bytes, None where numbers are nearly as good."""
    def moved(along: dict[int, float]) -> float:
        """By a wave that has so many blocks side by side along axes, one along others."""
        return reads.written * WAVE + sum(
            n * prod(along.get(axis, 1) for axis in found) for found, n in reads.read.items())

    axes, numbers = reads.axes, moved({reads.axes[0]: WAVE})
    orders = [Order(axis, None, None, moved({axis: WAVE}) / numbers) for axis in axes[1:]]
    for k, first in enumerate(axes):
        for second in axes[k + 1:]:
            of_first, of_second = _of_either(reads, first, second)
            if of_first and of_second:
                # Of two sizes alike the smaller: of square tiles groups of 8, not of 16. On an H100 by 128 x 128
                # 16384 x 1024 x 1024 takes 51.1 us, not 58.6, 8192 x 8192 x 512 103.8, not 108.8.
                size = 1 << max(0, ceil((log2(WAVE * of_second / of_first) - 1) / 2))
                if 1 < size < WAVE:
                    share = moved({first: size, second: WAVE / size}) / numbers
                    orders.append(Order(first, size, second, share))
    shares = {order: order.share for order in orders if order.share is not None}
    best = min(shares, key=shares.__getitem__)
    return best if shares[best] <= GAIN else None


def _of_either(reads: SharedReads, first: int, second: int) -> tuple[int, int]:
    """The bytes that a block reads by the one axis alone, and by the other one alone."""
    one, other = (
        sum(n for found, n in reads.read.items() if _depends(found, first, second) == which)
        for which in ((True, False), (False, True)))
    return one, other


def _longest_first(reads: SharedReads, known: int | None) -> Order | None:
    """Where blocks have fewer and fewer iterations along one axis: all rows that a wave has room for begin with their
    longest blocks, so that the last blocks of the launch are short ones; None where that is not known."""
    falling = [axis for axis in reads.axes if axis == known or slope(reads.unit, axis) is Trend.SHRINKS]
    if len(falling) != 1 or not all(isinstance(value.op, BlockId) for value in reads.coordinates):
        return None
    first = next((axis for axis in reads.axes if axis > falling[0]), None)
    return None if first is None else Order(first, WAVE, falling[0], None)


def _axis_of(block: Value) -> int:
    assert isinstance(block.op, BlockId)
    return block.op.axis


def _depends(axes: Axes, first: int, second: int) -> tuple[bool, bool]:
    return first in axes, second in axes


class _Places:
    """The ops that compute a block's coordinates from its place in the order of starts."""

    def __init__(self, b: Builder, order: Order, reads: SharedReads) -> None:
        self.b, self.order, self.reads = b, order, reads

    def of_axes(self) -> dict[int, Value]:
        """By axis, of a grid of two or three."""
        b, order = self.b, self.order
        concerned = range(3 if 2 in (order.first, order.second) or self._rows_of_two_axes() else 2)
        ids = [b.value(BlockId(axis=axis)) for axis in concerned]
        sizes = [b.value(NumBlocks(axis=axis)) for axis in concerned]
        every = reduce(self._times, [b.cast(size, float32) for size in sizes])
        exact = b.value(arith.Le(lhs=every, rhs=b.number(MOST, float32)))
        counts = [b.cast(size, uint32) for size in sizes]
        number = b.cast(ids[-1], uint32)
        for axis in reversed(concerned[:-1]):
            number = self._sum(self._times(number, counts[axis]), b.cast(ids[axis], uint32))
        return dict(enumerate(self._either(exact, number, ids, counts)))

    def of_rows(self, block: Value, length: Value) -> dict[int, Value]:
        """Of a block in rows of this length: axis 0 within the row, axis 1 of the row."""
        b = self.b
        ids = [b.value(arith.Mod(lhs=block, rhs=length)), b.value(arith.FloorDiv(lhs=block, rhs=length))]
        every = self.reads.walk.upper if self.reads.walk is not None else b.value(NumBlocks(axis=_axis_of(block)))
        numbers, count = b.cast(every, uint32), b.cast(length, uint32)
        height, left = self._divided(numbers, count)
        exact = b.value(arith.Eq(lhs=left, rhs=b.number(0, uint32)))
        if self.reads.walk is not None:
            few = b.value(arith.Le(lhs=numbers, rhs=b.number(LARGEST_GRID, uint32)))
            exact = b.value(arith.And(lhs=exact, rhs=few))
        return dict(enumerate(self._either(exact, b.cast(block, uint32), ids, [count, height])))

    def _either(self, exact: Value, number: Value, ids: Sequence[Value], counts: Sequence[Value]) -> Sequence[Value]:
        """The coordinates of the block that starts at place `number`: `ids`, without a division, where numbers may wrap
        and where the order is the same."""
        b, order = self.b, self.order
        one, shift, differs = b.number(1, uint32), None, [exact]
        if order.size is None or order.second is None:
            differs.append(b.value(arith.Lt(lhs=one, rhs=counts[order.first])))
        else:
            shift = self._shift(order.size, counts[order.first], counts[order.second])
            if order.first == 0 and len(counts) == 2:
                size = b.value(arith.Shl(lhs=one, rhs=shift))
                differs += [b.value(arith.Lt(lhs=size, rhs=counts[0])), b.value(arith.Lt(lhs=one, rhs=counts[1]))]
            elif order.share is None and (order.first, order.second) == (1, 0):
                differs.append(b.value(arith.Le(lhs=one, rhs=shift)))
        cond = reduce(lambda x, y: b.value(arith.And(lhs=x, rhs=y)), differs)
        with b.into() as then:
            found = self._found(shift, number, counts)
            b.emit(Yield(values=tuple(self._coordinate(found[axis]) for axis in range(len(ids)))))
        with b.into() as orelse:
            b.emit(Yield(values=tuple(ids)))
        return b.emit(If(cond=cond, then=then, orelse=orelse)).results

    def _found(self, shift: Value | None, number: Value, counts: Sequence[Value]) -> dict[int, Value]:
        order, found = self.order, dict[int, Value]()
        if shift is not None and order.second is not None:
            rows, columns = counts[order.first], counts[order.second]
            if self._rows_of_two_axes():
                row, column = self._in_group(shift, number, self._times(rows, counts[2]), columns)
                slow, fast = self._divided(row, rows)
                return {0: column, 1: fast, 2: slow}
            if len(counts) == 3:
                found[3 - order.first - order.second], number = self._divided(number, self._times(rows, columns))
            first, second = self._in_group(shift, number, rows, columns)
            return {**found, order.first: first, order.second: second}
        *others, slowest = (axis for axis in range(len(counts)) if axis != order.first)
        for axis in (order.first, *others):
            number, found[axis] = self._divided(number, counts[axis])
        return {**found, slowest: number}

    def _rows_of_two_axes(self) -> bool:
        """Whether rows along axis 0 are of axes 1 and 2: all run in turns with the longest blocks first."""
        order = self.order
        return order.share is None and (order.first, order.second) == (1, 0) and 2 in self.reads.axes

    def _shift(self, size: int, rows: Value, columns: Value) -> Value:
        """The logarithm of the blocks in a group."""
        b, least = self.b, min(size, SMALL)
        if self.order.share is None:
            return self._of_a_wave(columns)
        chosen = b.number(least.bit_length() - 1, uint32)
        if self._of_small_tiles():
            many = b.value(arith.Le(lhs=b.number(MANY, uint32), rhs=rows))
            return b.value(arith.Select(cond=many, lhs=b.number(SMALL.bit_length() - 2, uint32), rhs=chosen))
        line, across = (self._line(which) for which in ((True, False), (False, True)))
        if line is None or across is None:
            return b.number(size.bit_length() - 1, uint32)
        enough = b.number(float(KEPT), float32)
        all_of_it = self._times(across, b.cast(columns, float32))
        read_again = b.value(arith.Lt(lhs=enough, rhs=all_of_it))
        while least < LARGE:
            least *= 2
            kept = b.value(arith.Le(lhs=self._times(line, b.number(float(least), float32)), rhs=enough))
            if least > size:
                kept = b.value(arith.And(lhs=kept, rhs=read_again))
            chosen = b.value(arith.Select(cond=kept, lhs=b.number(least.bit_length() - 1, uint32), rhs=chosen))
        return chosen

    def _of_small_tiles(self) -> bool:
        """Whether blocks of a grid of rows and columns read as many bytes by either, at most SMALL_TILE a step."""
        order, reads = self.order, self.reads
        assert order.second is not None
        rows, columns = _of_either(reads, order.first, order.second)
        flat = any(not isinstance(value.op, BlockId) for value in reads.coordinates)
        return rows == columns <= SMALL_TILE * ITERATIONS and not flat

    def _of_a_wave(self, columns: Value) -> Value:
        """The logarithm of the rows that a wave has all blocks of: a power of two, or a part of one row."""
        b, beyond = self.b, self.b.number(columns.type.dtype.bitwidth - WAVE.bit_length() + 1)
        zeros = b.value(Clz(src=b.value(arith.Sub(lhs=columns, rhs=b.number(1, uint32)))))
        return b.cast(b.value(arith.Sub(lhs=b.value(arith.Max(lhs=zeros, rhs=beyond)), rhs=beyond)), uint32)

    def _line(self, which: tuple[bool, bool]) -> Value | None:
        """The bytes that a block reads at places that depend on the first axis or on the second one; None where they
        are not known."""
        b, total = self.b, None
        assert self.order.second is not None
        for axes in self.reads.read:
            if _depends(axes, self.order.first, self.order.second) != which:
                continue
            for line in self.reads.lines.get(axes, ()):
                size = b.number(float(line.bytes), float32)
                for axis in line.extents:
                    size = self._times(size, b.cast(b.value(Extent(array=line.array, axis=axis)), float32))
                total = size if total is None else self._sum(total, size)
        return total

    def _in_group(self, shift: Value, number: Value, rows: Value, columns: Value) -> tuple[Value, Value]:
        """Row and column of a block. Groups but the last one have a power of two of rows; what is computed for either
        kind does not wait for the other's division, but for blocks of many iterations, which are fewer ops so."""
        b, one = self.b, self.b.number(1, uint32)
        if self.order.share is None:
            group, inside = self._divided(number, b.value(arith.Shl(lhs=columns, rhs=shift)))
            first = b.value(arith.Shl(lhs=group, rhs=shift))
            left, most = b.value(arith.Sub(lhs=rows, rhs=first)), b.value(arith.Shl(lhs=one, rhs=shift))
            column, row = self._divided(inside, b.value(arith.Min(lhs=left, rhs=most)))
            return self._sum(first, row), column
        low = b.value(arith.Sub(lhs=b.value(arith.Shl(lhs=one, rhs=shift)), rhs=one))
        rest = b.value(arith.And(lhs=rows, rhs=low))
        whole = b.value(arith.Sub(lhs=rows, rhs=rest))
        before = self._times(whole, columns)
        group, inside = self._divided(number, b.value(arith.Shl(lhs=columns, rhs=shift)))
        row = self._sum(b.value(arith.Shl(lhs=group, rhs=shift)), b.value(arith.And(lhs=inside, rhs=low)))
        column = b.value(arith.Shr(lhs=inside, rhs=shift))
        last_column, last_row = self._divided(
            b.value(arith.Sub(lhs=number, rhs=before)), b.value(arith.Max(lhs=rest, rhs=one)))
        early = b.value(arith.Lt(lhs=number, rhs=before))
        return (b.value(arith.Select(cond=early, lhs=row, rhs=self._sum(whole, last_row))),
                b.value(arith.Select(cond=early, lhs=column, rhs=last_column)))

    def _coordinate(self, found: Value) -> Value:
        """As an int32, whose range the facts know."""
        return self.b.cast(self.b.value(arith.Min(lhs=found, rhs=self.b.number(LARGEST_GRID - 1, uint32))), int32)

    def _sum(self, x: Value, y: Value) -> Value:
        return self.b.value(arith.Add(lhs=x, rhs=y))

    def _times(self, x: Value, y: Value) -> Value:
        return self.b.value(arith.Mul(lhs=x, rhs=y))

    def _divided(self, x: Value, y: Value) -> tuple[Value, Value]:
        """Quotient and remainder."""
        quotient = self.b.value(arith.FloorDiv(lhs=x, rhs=y))
        return quotient, self.b.value(arith.Sub(lhs=x, rhs=self._times(quotient, y)))
