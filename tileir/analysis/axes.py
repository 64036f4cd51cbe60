"""Which axes of tiles are cut together when several parts of a machine compute a sub-tile each: one table, op by op.

A node is (tile, axis). An op joins nodes: if its operand is cut along an axis, its result is cut along one too, and
sub-tile r of the result is computed from sub-tile r of the operand. Nodes that an op cannot cut are *whole*.
A backend chooses components.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import accumulate, chain
from operator import mul
from typing import Any

from tilewright.tileir.analysis.joined import Joined
from tilewright.tileir.carried import carried
from tilewright.tileir.core import Function, Op, Value
from tilewright.tileir.ops import control
from tilewright.tileir.ops.arith import Constant
from tilewright.tileir.ops.fold import Fold, ReduceWith, ScanWith
from tilewright.tileir.ops.matmul import Mma
from tilewright.tileir.ops.memory import Gather, Scatter, TileAccess
from tilewright.tileir.ops.reduce import ArgReduction, Reduction
from tilewright.tileir.ops.shape import Broadcast, Cat, Extract, Iota, Permute, Reshape, Take
from tilewright.tileir.rules import RuleTable
from tilewright.tileir.types import TileType

# Least width of elements whose partial results are combined.
LEAST_BITS = 32

Node = tuple[Value, int]


def is_tile(value: Value | None) -> bool:
    """Whether a value is a tile of rank 1 or more: it has elements that may lie in different places."""
    return value is not None and isinstance(value.type, TileType) and bool(value.type.shape)


class Axes(Joined[Node]):
    """The nodes of a function, joined. `count` is the number of sub-tiles. `exchange`: partial results of a reduction
    along an axis that is cut may be combined, and a scan may begin with what the sub-tiles before hold."""

    def __init__(self, function: Function, count: int, exchange: bool = False) -> None:
        super().__init__()
        self.count = count
        self.exchange = exchange
        self._whole: dict[Node, Op] = {}
        for op in function.walk():
            self._visit(op)
        self.members: dict[Node, list[Node]] = {}
        for node in self.parent:
            self.members.setdefault(self.find(node), []).append(node)

    def component(self, node: Node) -> list[Node]:
        return self.members.get(self.find(node), [node])

    def hindrance(self, node: Node) -> Op | None:
        """An op that cannot work on sub-tiles along this axis."""
        return self._whole.get(node)

    def conflict(self, nodes: Iterable[Node], chosen: Mapping[Value, int]) -> Op | Value | None:
        """What keeps these nodes from being cut beside tiles that are `chosen`, each along an axis: an op that cannot
        work on sub-tiles, or a tile that would be cut along two axes."""
        own = dict(chosen)
        for value, axis in nodes:
            hindrance = self.hindrance((value, axis))
            if hindrance is not None:
                return hindrance
            if own.setdefault(value, axis) != axis:
                return value
        return None

    def _visit(self, op: Op) -> None:
        if op.terminator:
            return  # its operands are variables of the enclosing op
        rule = _RULES.of(op) or (_same_shape if op.elementwise else None)
        joined = list(rule(op, self.count)) if rule is not None else []
        if self.exchange and isinstance(op, (Reduction, ScanWith)):
            joined += _exchanged(op)
        cut: set[Node] = set()
        for first, *others in joined:
            cut.update((first, *others))
            for other in others:
                self.join(first, other)
        for value in filter(is_tile, (*op.operands, *op.results)):
            for axis, length in enumerate(value.type.shape):
                node = value, axis
                self.find(node)
                if node not in cut or length % self.count:
                    self._whole.setdefault(node, op)


Rule = Callable[[Any, int], Iterable[list[Node]]]
"""The nodes that are cut together, given the op and the number of sub-tiles."""


def _alike(*tiles: Value) -> Iterator[list[Node]]:
    """Tiles of one shape."""
    for axis in range(len(tiles[0].type.shape) if tiles else 0):
        yield [(v, axis) for v in tiles]


def _same_shape(op: Op, count: int) -> Iterator[list[Node]]:
    """Element-wise ops, gathers, scatters: all tiles are cut alike."""
    return _alike(*filter(is_tile, (*op.operands, *op.results)))


def _variables(op: Op, count: int) -> Iterator[list[Node]]:
    return chain.from_iterable(_alike(*values) for values in carried(op) if is_tile(values[0]))


def _result(op: Op, count: int) -> Iterator[list[Node]]:
    """Constants and iotas: each sub-tile can be made on its own."""
    return _alike(*filter(is_tile, op.results))


def _access(op: TileAccess, count: int) -> Iterator[list[Node]]:
    """Sub-tiles are tiles of a finer grid, if their length divides the step between tiles."""
    tile = op.tile
    if not is_tile(tile):
        return
    for axis, (length, step) in enumerate(zip(tile.type.shape, op.steps, strict=True)):
        if length % count == 0 and step % (length // count) == 0:
            yield [(tile, axis)]


def _mma(op: Mma, count: int) -> Iterator[list[Node]]:
    rank = len(op.acc.type.shape)
    for axis in range(rank - 2):
        yield [(op.a, axis), (op.b, axis), (op.acc, axis), (op.result, axis)]
    yield [(op.a, rank - 2), (op.acc, rank - 2), (op.result, rank - 2)]
    yield [(op.b, rank - 1), (op.acc, rank - 1), (op.result, rank - 1)]


def _reduce(op: Reduction | ArgReduction, count: int) -> Iterator[list[Node]]:
    gone = op.reduced_axes
    kept = [axis for axis in range(len(op.src.type.shape)) if axis not in gone]
    for number, axis in enumerate(kept):
        yield [(op.src, axis), (op.results[0], number)]


def _fold(op: Fold, count: int) -> Iterator[list[Node]]:
    """Along all axes but that of the fold, which the result of a reduction lacks."""
    shorter = isinstance(op, ReduceWith)
    for axis in range(len(op.srcs[0].type.shape)):
        if axis != op.axis:
            yield [*((v, axis) for v in op.srcs), *((v, axis - (shorter and axis > op.axis)) for v in op.results)]


def _exchanged(op: Reduction | ScanWith) -> Iterator[list[Node]]:
    """Along axes that are folded, where parts exchange what they have in all."""
    srcs = [op.src] if isinstance(op, Reduction) else op.srcs
    if all(v.type.dtype.bitwidth >= LEAST_BITS for v in srcs):
        yield from ([(op.src, axis)] for axis in op.axes) if isinstance(op, Reduction) else [
            [(v, op.axis) for v in (*srcs, *op.results)]]


def _broadcast(op: Broadcast, count: int) -> Iterator[list[Node]]:
    source = op.src.type.shape
    for axis, length in enumerate(op.shape):
        repeated = not source or source[axis] != length
        yield [(op.result, axis)] if repeated else [(op.src, axis), (op.result, axis)]


def _reshape(op: Reshape, count: int) -> Iterator[list[Node]]:
    """Axes with equally many elements outside of them are cut at the same positions."""
    before = [list(accumulate(shape, mul, initial=1)) for shape in (op.src.type.shape, op.shape)]
    for i, length in enumerate(op.src.type.shape):
        for j, other in enumerate(op.shape):
            if before[0][i] == before[1][j] and min(length, other) > 1:
                yield [(op.src, i), (op.result, j)]


def _permute(op: Permute, count: int) -> Iterator[list[Node]]:
    for new, old in enumerate(op.axes):
        yield [(op.src, old), (op.result, new)]


def _others(op: Cat | Take, count: int) -> Iterator[list[Node]]:
    """Along all axes but the op's own."""
    for axis in range(len(op.result.type.shape)):
        if axis != op.axis:
            yield [(v, axis) for v in (*op.operands, op.result)]


def _extract(op: Extract, count: int) -> Iterator[list[Node]]:
    for axis, (length, part) in enumerate(zip(op.src.type.shape, op.shape, strict=True)):
        if length == part:
            yield [(op.src, axis), (op.result, axis)]


_RULES: RuleTable[Rule] = RuleTable("axes of tiles", {
    Constant: _result, Iota: _result, TileAccess: _access, Gather: _same_shape, Scatter: _same_shape,
    control.For: _variables, control.While: _variables, control.If: _variables,
    Reduction: _reduce, ArgReduction: _reduce, Fold: _fold,
    Mma: _mma, Broadcast: _broadcast, Reshape: _reshape, Permute: _permute, Cat: _others, Take: _others,
    Extract: _extract,
})
