"""What the blocks of a grid read together: bytes by the axes of the grid that the places of tiles are computed from.

    load(array=%a, index=(%i, %k), shape=(128, 64), ...)     // in a loop over %k, %i = block_id(axis=0)

depends on axis 0: blocks that differ along axis 1 alone read the same. Together a block's iterations read a line of %a,
128 rows of as many elements as %a has along its axis 1.

In a kernel whose blocks walk over tiles, by a loop from a block's number by the number of blocks, these tiles are what
blocks are elsewhere: in each iteration a wave works on as many tiles that follow each other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from math import prod
from typing import NamedTuple

from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.carried import origins
from tilewright.tileir.core import Block, Op, Value
from tilewright.tileir.ops import arith
from tilewright.tileir.ops.arrays import BlockId, Extent, NumBlocks
from tilewright.tileir.ops.atomics import Atomic
from tilewright.tileir.ops.control import For, While
from tilewright.tileir.ops.memory import Load, Store
from tilewright.tileir.types import ArrayType, TileType

# A loop runs an unknown number of times; what it reads counts so many times what is read outside of it.
ITERATIONS = 16

Axes = frozenset[int]


class Line(NamedTuple):
    """What a block reads of an array: so many bytes, times the extents of the array along some of its axes."""

    array: Value
    bytes: int
    extents: tuple[int, ...]


class SharedReads:
    """The reads of a function by axes of the grid. `written`: bytes that a block writes. `lines`: by axes, of the loads
    of parameters. `ordered`: the order of blocks may mean something. `uneven`: bounds of loops depend on the block.
    `known` is False where a block reads the place of a tile at a place of its own: blocks may then share more than can
    be seen."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.walk = walk_of(unit)
        self.coordinates = coordinates_of(unit, self.walk)
        if self.walk is not None and not _any_order(unit, self.walk, self.coordinates):
            self.walk, self.coordinates = None, {}
        self.axes = sorted(set(self.coordinates.values()))
        self.read: dict[Axes, int] = defaultdict(int)
        self.lines: dict[Axes, list[Line]] = defaultdict(list)
        self.written = 0
        self.known = True
        self.ordered, self.uneven = is_ordered(unit), is_uneven(unit, self.walk)
        for op in unit.function.walk() if len(self.axes) > 1 and not self.ordered else ():
            self._add(op)
            if not self.known:
                break

    def _add(self, op: Op) -> None:
        effects = op.effects()
        if any(isinstance(memory.type, ArrayType) for memory in effects.writes):
            self.written += self._bytes(op.operands, op)
        elif _reads(op):
            axes = self._axes(op.operands)
            if axes is None:
                self.known = False
                return
            self.read[axes] += self._bytes(op.results, op)
            if isinstance(op, Load) and op.array in self.unit.function.params:
                self.lines[axes].append(self._line(op))

    def _axes(self, values: Iterable[Value]) -> Axes | None:
        """The axes from whose coordinates the values are computed; None where a block reads them at a place of its
        own."""
        found = self._origins(values)
        if any(isinstance(value.op, BlockId) for value in found - self.coordinates.keys()):
            return frozenset(self.axes)
        reading = (value.op for value in found if value.op is not None and _reads(value.op))
        if any(not self.coordinates.keys().isdisjoint(self._origins(op.operands)) for op in reading):
            return None
        return frozenset(self.coordinates[value] for value in found & self.coordinates.keys())

    def _origins(self, values: Iterable[Value]) -> set[Value]:
        return set(origins(values, self.unit.parents, lambda value: value in self.coordinates))

    def _bytes(self, tiles: Iterable[Value], op: Op) -> int:
        """Of the largest tile among the values, as often as loops around the op read or write it."""
        sizes = [prod(v.type.shape) * v.type.dtype.bytes for v in tiles if isinstance(v.type, TileType)]
        loops = sum(isinstance(outer, For) for outer in self.unit.around(op))
        often: int = ITERATIONS**loops
        return max(sizes, default=0) * often

    def _line(self, op: Load) -> Line:
        walked = [any(isinstance(v.owner, Block) and v.owner in self.unit.parents and v not in self.coordinates
                      for v in self._origins([index])) for index in op.index]
        size = prod(length for length, all_of_it in zip(op.shape, walked, strict=True) if not all_of_it)
        extents = (axis for axis, all_of_it in zip(op.order, walked, strict=True) if all_of_it)
        return Line(op.array, size * op.result.type.dtype.bytes, tuple(extents))


def is_ordered(unit: Unit) -> bool:
    """Whether the order of blocks may mean something: atomics and ordered accesses, and loops that are not counted."""
    return any(isinstance(op, (Atomic, While)) or (op.effectful and op.effects().ordered)
               for op in unit.function.walk())


def is_uneven(unit: Unit, walk: For | None = None) -> bool:
    """Whether bounds of loops depend on the block, but for the walk over tiles."""
    return any(isinstance(op, For) and op is not walk and any(
        isinstance(value.op, BlockId) for value in origins((op.lower, op.upper, op.step), unit.parents))
        for op in unit.function.walk())


def walk_of(unit: Unit) -> For | None:
    """The loop of a kernel whose blocks walk over tiles: from the block's number, which is used for nothing else, by
    the number of blocks, so that all together take each number below the upper bound once."""
    ids = [op for op in unit.function.walk() if isinstance(op, BlockId)]
    for op in unit.function.body.ops if len(ids) == 1 else ():
        if isinstance(op, For) and op.lower.op is ids[0] and not op.init and isinstance(step := op.step.op, NumBlocks):
            alone = unit.uses[op.lower] == [op] and op.upper is not op.lower
            return op if alone and step.axis == ids[0].axis else None
    return None


class Rows(NamedTuple):
    """What blocks walk over: as many tiles of `size` along an axis of a parameter as hold all of it."""

    parameter: int
    axis: int
    size: int


def free_rows(unit: Unit) -> Rows | tuple[()]:
    """What the blocks of a kernel walk over, where any number of them may take its tiles in any order; () where that
    is not known, or not from the arguments' shapes alone."""
    walk = walk_of(unit)
    if walk is None or is_ordered(unit) or not _any_order(unit, walk, {walk.loop.params[0]: 0}):
        return ()
    counts = [user for op in unit.function.walk() if isinstance(op, NumBlocks) for user in unit.uses[op.result]]
    if any(user is not walk for user in counts):
        return ()
    parts, size = walk.upper.op, 1
    count = parts
    if isinstance(parts, arith.CeilDiv):
        count, size = parts.lhs.op, unit.facts[parts.rhs].constant or 0
    if not (isinstance(count, Extent) and count.array in unit.function.params and size > 0):
        return ()
    return Rows(unit.function.params.index(count.array), count.axis, size)


def coordinates_of(unit: Unit, walk: For | None = None) -> Mapping[Value, int]:
    """The values that say which block this is, each with its axis of the grid.

    Where a kernel has one axis, and divides the number of the block by the length of a row, the remainder stands for
    axis 0 and the quotient for axis 1; so it is with the numbers of a walk. Where it uses the number otherwise, too (as
    the place of a partial result), both have to stay what they are.
    """
    ids = [op for op in unit.function.walk() if isinstance(op, BlockId)]
    if len({op.axis for op in ids}) > 1:
        return {op.result: op.axis for op in ids}
    numbers = [op.result for op in ids] if walk is None else walk.loop.params[:1]
    divided: dict[Value, dict[Value, int]] = defaultdict(dict)
    for op in (unit.function.body if walk is None else walk.loop).ops:
        if isinstance(op, arith.Mod | arith.FloorDiv) and op.lhs in numbers:
            divided[op.rhs][op.result] = int(isinstance(op, arith.FloorDiv))
    users = [user for number in numbers for user in unit.uses.get(number, ())]
    return next((found for found in divided.values() if len(set(found.values())) == 2 and all(
        user.results and user.results[0] in found for user in users)), {})


def _any_order(unit: Unit, walk: For, coordinates: Mapping[Value, int]) -> bool:
    """Whether a block may come to its tiles in any order: each iteration writes nothing but tiles at its own
    coordinates, to arrays that nothing else accesses."""
    stores = [op for op in walk.inside() if isinstance(op, Store)]
    written = [unit.dependences.alias_class(op.array) for op in stores]
    for op in stores:
        axes = {coordinates[place] for place in op.index if place in coordinates}
        whole = tuple(op.steps) == op.value.type.shape and op.array.type.disjoint
        if not whole or len(axes) < len({*coordinates.values()}):
            return False
    others = [unit.dependences.summary(op) for op in unit.function.walk() if not op.blocks and op not in stores]
    return len(set(written)) == len(written) and all(
        found.only_reads and found.reads.isdisjoint(written) for found in others)


def _reads(op: Op) -> bool:
    return any(isinstance(memory.type, ArrayType) for memory in op.effects().reads)
