"""Even parts of a row for the blocks that share it, where its tile is longer than the array may be.

    before: %x: array<?x?xf32>; a tile of 65536 columns, cut into eight
    after:  %length: i32 = ...                                     // 6144 of 50257 columns, the last block takes 7249
            %start: i32 = min(%rank * %length, %columns)
            %stop: i32 = min(%start + %length, %columns)           // of the last block more
            %part: array<?x?xf32> = slice_array(array=%x, start=%start, stop=%stop, axis=1)
            %t: tile<1x8192xf32> = load(array=%part, index=(%i, %zero), ...)

By equal sub-tiles of 8192 columns six blocks would be full, and one empty: the others of a row wait for the slowest.
Parts begin at multiples of a step of the sub-tile, so that what is known of an array's alignment holds for its parts.
Where the elements of rows at odd addresses are stored one by one, and those of a warp fill a line of memory, all parts
but the first begin at such lines: they begin as many elements earlier as the row begins past one.
Elements of a sub-tile beyond its block's part are columns beyond all arrays, of which there are as many as before: what
is reduced or stored does not depend on which these are.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import reduce
from math import gcd

from tilewright.tileir.analysis.neighbours import WIDEST, moves_elements, tile_run
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Op, Value
from tilewright.tileir.enums import MemoryOrder
from tilewright.tileir.ops import arith
from tilewright.tileir.ops.arrays import BlockId, Extent, SliceArray, Stride
from tilewright.tileir.ops.control import For, If, While
from tilewright.tileir.ops.memory import Store, TileAccess
from tilewright.tileir.ops.reduce import Reduction
from tilewright.tileir.ops.shape import Broadcast, Iota
from tilewright.tileir.types import ArrayType

# Steps of a sub-tile that a part is long. Where elements are moved one by one, a quarter is about what element-wise ops
# take at once: edges inside of them cost predicates. Layer norm of 50257 bfloat16 columns on an H100 takes 0.70 of a
# copy's rate by quarters, 0.64 by sixteenths; of 40000, whose accesses have predicates anyway, 0.85 and 0.89.
QUARTERS, FINE = 4, 16
# Bytes of a line of memory, and lanes of a warp.
LINE, WARP = 128, 32

Place = tuple[Value, int]
"""An array and one of its axes."""


class EvenParts:
    """The arrays of which each block takes a part, and the tests of columns (`tw.arange(...) < x.shape[1]`), which
    compare with the part's extent instead."""

    def __init__(self, places: Collection[Place], tests: Mapping[Op, Extent], step: int, steps: int,
                 stored: Store | None = None) -> None:
        """`stored`: the rows at whose lines of memory parts begin."""
        self.places, self.tests, self.step, self.steps, self.stored = places, tests, step, steps, stored
        self._parts: dict[Place, Value] = {}

    def emit(self, top: Builder, block: Value, rank: Value, blocks: int) -> None:
        """The parts, for the longest array: as few steps of a sub-tile as hold it. One less of quarters of all but the
        last block where that suffices. `block`: the number of the block that these stand for."""
        [index] = {array.type.index for array, _ in self.places}
        extents = {place: top.value(Extent(array=place[0], axis=place[1])) for place in self.places}
        most = reduce(lambda a, b: top.value(arith.Max(lhs=a, rhs=b)), extents.values())
        rank = top.cast(rank, index)

        def number(value: int) -> Value:
            return top.number(value, index)

        def computed(kind: type[arith.Binary], lhs: Value, rhs: Value) -> Value:
            return top.value(kind(lhs=lhs, rhs=rhs))

        wanted = computed(arith.Min, computed(arith.CeilDiv, most, number(blocks * self.step)), number(self.steps))
        length = own = computed(arith.Mul, wanted, number(self.step))
        if self.steps == QUARTERS:
            shorter = computed(arith.Sub, own, number(self.step))
            of_all = computed(arith.Add, computed(arith.Mul, shorter, number(blocks - 1)), own)
            tile = number(self.step * self.steps * blocks)
            enough = top.value(arith.Ge(lhs=of_all, rhs=computed(arith.Min, most, tile)))
            length = top.value(arith.Select(cond=enough, lhs=shorter, rhs=own))
            last = top.value(arith.Eq(lhs=rank, rhs=number(blocks - 1)))
            own = top.value(arith.Select(cond=last, lhs=own, rhs=length))
        start = computed(arith.Mul, rank, length)
        stop = computed(arith.Add, start, own)
        if self.stored is not None:  # the last part is as much longer as its sub-tile has room for
            tile, last = number(self.step * self.steps), top.value(arith.Eq(lhs=rank, rhs=number(blocks - 1)))
            room = computed(arith.Sub, tile, computed(arith.Sub, most, computed(arith.Mul, length, number(blocks - 1))))
            back = self._past_line(top, block, room)
            start, stop = (computed(arith.Max, computed(arith.Sub, v, back), number(0)) for v in (start, stop))
            stop = top.value(arith.Select(cond=last, lhs=most, rhs=stop))
        for (array, axis), extent in extents.items():
            bounds = [top.value(arith.Min(lhs=bound, rhs=extent)) for bound in (start, stop)]
            type_ = _part_of(array, axis, self.step if self.stored is None else 1)
            self._parts[array, axis] = top.value(SliceArray(
                array=array, start=bounds[0], stop=bounds[1], axis=axis, type=type_), array.hint)

    def _past_line(self, top: Builder, block: Value, room: Value) -> Value:
        """How many elements past a line of memory the stored row begins, if there is room for so many; else 0."""
        assert self.stored is not None
        line, index = LINE // self.stored.array.type.dtype.bytes, room.type.dtype

        def rest(value: Value) -> Value:
            return top.value(arith.And(lhs=top.cast(value, index), rhs=top.number(line - 1, index)))

        place = top.number(0, index)
        for axis, number in zip(self.stored.order, self.stored.index, strict=True):
            if isinstance(number.op, BlockId):
                stride = top.value(Stride(array=self.stored.array, axis=axis))
                moved = top.value(arith.Mul(lhs=rest(block), rhs=rest(stride)))
                place = rest(top.value(arith.Add(lhs=place, rhs=moved)))
        enough = top.value(arith.Ge(lhs=room, rhs=top.number(line - 1, index)))
        return top.value(arith.Select(cond=enough, lhs=place, rhs=top.number(0, index)))

    def part(self, array: Value, axis: int) -> Value:
        return self._parts[array, axis]

    def limit(self, b: Builder, test: arith.Lt) -> Value:
        """What the columns of a block are compared with."""
        found = self.tests[test]
        extent = b.value(Extent(array=self.part(found.array, found.axis), axis=found.axis))
        return b.value(Broadcast(src=extent, shape=test.lhs.type.shape))


def even_parts(unit: Unit, chosen: Mapping[Value, int], blocks: int) -> EvenParts | None:
    """None where sub-tiles must lie side by side, or where nothing of them may lie outside: accesses begin at the first
    element of arrays that are parameters, and apart from tests of columns every op does the same with each column. Nor
    where accesses of parts would move fewer elements at once."""
    places: dict[Place, None] = {}
    lengths = {value.type.shape[axis] for value, axis in chosen.items()}
    tests: dict[Op, Extent] = {}
    for op in unit.function.walk():
        if not any(v in chosen for v in (*op.operands, *op.results)):
            continue
        if isinstance(op, TileAccess):
            axis = chosen[op.tile]
            if not _begins(op, axis):
                return None
            places[op.array, op.order[axis]] = None
        elif isinstance(op, Iota):
            found = _tests_of(op.result, unit)
            if found is None:
                return None
            tests |= found
        elif not (op.elementwise or op.view or op.terminator
                  or isinstance(op, (Reduction, Broadcast, arith.Constant, For, While, If))):
            return None
    tested = {(extent.array, extent.axis) for extent in tests.values()}
    same = len(lengths) == len({array.type.index for array, _ in places}) == 1 and tested <= places.keys()
    apart = moves_elements(unit.function)
    steps = QUARTERS if apart else FINE
    step, left = divmod(min(lengths) // blocks, steps)
    if not same or left or not (apart or all(_keeps_runs(array, axis, step) for array, axis in places)):
        return None
    return EvenParts(places, tests, step, steps, _stored(unit, chosen) if apart else None)


def _stored(unit: Unit, chosen: Mapping[Value, int]) -> Store | None:
    """The store of rows whose parts shall begin at lines of memory: a warp's access of single elements is as long as a
    line, and the number of the block says which row it is."""
    stores = [op for op in unit.function.walk() if isinstance(op, Store) and op.value in chosen]
    numbers = {number.op.axis for op in stores for number in op.index if isinstance(number.op, BlockId)}
    known = all(isinstance(number.op, BlockId | arith.Constant) for op in stores for number in op.index)
    wide = any(WARP * op.array.type.dtype.bytes == LINE for op in stores)
    return stores[0] if len(stores) == 1 and known and wide and numbers == {0} else None


def _keeps_runs(array: Value, axis: int, step: int) -> bool:
    """Whether an access of a part moves as many elements at once as one of the array."""
    order = tuple(range(array.type.rank))
    steps = tuple(step if k == axis else 1 for k in order)
    whole, part = (tile_run(t, order, steps, steps, WIDEST) for t in (array.type, _part_of(array, axis, step)))
    return whole.length == part.length


def _begins(op: TileAccess, axis: int) -> bool:
    """Whether the only tile along an axis of a parameter is accessed, which may reach beyond its end."""
    number, array = op.index[axis].op, op.order[axis]
    first = isinstance(number, arith.Constant) and number.value == 0
    weak = op.memory_order is MemoryOrder.WEAK
    return first and weak and op.check_bounds and op.array.op is None and op.array.type.extents[array] is None


def _tests_of(columns: Value, unit: Unit) -> dict[Op, Extent] | None:
    """The comparisons with extents that are all that numbers of columns are used for."""
    out: dict[Op, Extent] = {}
    for user in unit.uses.get(columns, ()):
        if isinstance(user, arith.Lt) and user.lhs is columns:
            limit = user.rhs.op.src.op if isinstance(user.rhs.op, Broadcast) else None
            if not isinstance(limit, Extent):
                return None
            out[user] = limit
        elif user.view or isinstance(user, Broadcast):
            found = _tests_of(user.results[0], unit)
            if found is None:
                return None
            out |= found
        else:
            return None
    return out


def _part_of(array: Value, axis: int, step: int) -> ArrayType:
    """What is known of a part, which begins at a multiple of `step` columns; where it is empty, at the array's end."""
    type_: ArrayType = array.type
    extents, divisors = list(type_.extents), list(type_.extent_div)
    extents[axis], divisors[axis] = None, gcd(step, divisors[axis])
    stride = type_.strides[axis]
    apart = divisors[axis] * (type_.stride_div[axis] if stride is None else stride) * type_.dtype.bytes
    return replace(type_, extents=tuple(extents), extent_div=tuple(divisors), align=gcd(type_.align, apart))
