"""What a launch computes for each element, where that does not depend on how arrays are cut into tiles.

Two launches of one kernel with tiles of other sizes do the same if this is equal: each element that is stored is the
same expression of scalars, of elements loaded at the same place, and of that place. Broadcasts and reshapes only say
which axis is which; `block_id * 16 + iota(16)` is the place along an axis, as `block_id * 32 + iota(32)` is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tilewright.combining.graph import Graph
from tilewright.combining.pieces import Piece
from tilewright.tileir.core import Op, Value
from tilewright.tileir.enums import MemoryOrder
from tilewright.tileir.ops.arith import Add, Constant, Mul, Sub
from tilewright.tileir.ops.arrays import AssumeDivisible, BlockId, Extent, Stride
from tilewright.tileir.ops.control import Return
from tilewright.tileir.ops.convert import Cast
from tilewright.tileir.ops.memory import Load, Store
from tilewright.tileir.ops.shape import Broadcast, Iota, Permute, Reshape
from tilewright.tileir.types import TileType

Axes = tuple[int | None, ...]
SHAPES = frozenset({"shape", "steps", "size", "type", "order", "latency", "allow_tma"})


class DependsOnTiles(Exception):
    """A value depends on the sizes of tiles; the argument says how, for a user."""


class Position(NamedTuple):
    """An integer: `start + sum(blocks[a] * block number along a) + sum(inner[k] * index along axis k of the tile)`."""

    start: int
    blocks: tuple[tuple[int, int], ...] = ()
    inner: tuple[tuple[int, int], ...] = ()


class Element(NamedTuple):
    """Any other tile: the number of its elements' expression, and by axis the axis of the grid that counts along it;
    None where all are equal."""

    expression: int
    axes: Axes


@dataclass(frozen=True)
class Pointwise:
    """`stores`: what each store writes, `tiles`: the length of tiles along each axis of the grid."""

    stores: tuple[Any, ...]
    tiles: dict[int, int]


def pointwise(piece: Piece, grid: Sequence[int], graph: Graph) -> Pointwise:
    """What a launch computes for each element. Raises DependsOnTiles where tiles matter."""
    return _Reading(piece, grid, graph).run()


class _Reading:
    def __init__(self, piece: Piece, grid: Sequence[int], graph: Graph) -> None:
        self.piece = piece
        self.grid = grid
        self.graph = graph
        self.tiles: dict[int, int] = {}
        self.known: dict[Value, Position | Element] = {}
        self.slot_of = dict(zip(piece.function.params, piece.slots, strict=True))

    def run(self) -> Pointwise:
        ops = self.piece.function.body.ops
        for op in ops:
            if isinstance(op, BlockId):
                self.known[op.result] = Position(0, ((op.axis, 1),))
        for op in ops:
            if isinstance(op, Load | Store):
                self._measure(op)
        stores: list[Any] = []
        for op in ops:
            if isinstance(op, Store):
                stores.append(self._store(op))
            elif not isinstance(op, Return):
                if len(op.results) != 1:
                    raise DependsOnTiles(f"it has {op.opcode}")
                self.known[op.result] = self._value(op)
        return Pointwise(tuple(stores), self.tiles)

    def _measure(self, op: Load | Store) -> None:
        """The length of tiles along the axes of the grid."""
        for axis, length in zip(self._axes(op), op.tile.type.shape, strict=True):
            if axis is not None and self.tiles.setdefault(axis, length) != length:
                raise DependsOnTiles(f"tiles of {self.tiles[axis]} and of {length} lie along axis {axis} of the grid")

    def _axes(self, op: Load | Store) -> Axes:
        """By axis of the tile: which axis of the grid counts along it."""
        out: list[int | None] = []
        for index, step, length in zip(op.index, op.steps, op.tile.type.shape, strict=True):
            if step != length or op.memory_order is not MemoryOrder.WEAK or op.array not in self.slot_of:
                raise DependsOnTiles("tiles overlap, or are ordered")
            place = self.known.get(index)
            if isinstance(place, Position) and len(place.blocks) == 1 and not place.start and place.blocks[0][1] == 1:
                out.append(place.blocks[0][0])
            elif length == 1 and isinstance(index.op, Constant) and index.op.value == 0:
                out.append(None)
            else:
                raise DependsOnTiles("a tile lies at no block number")
        return tuple(out)

    def _store(self, op: Store) -> Any:
        axes, value = self._axes(op), self._element(op.value)
        slot = self.slot_of[op.array]
        shape = self.graph.slots[slot].info.shape
        for axis, number, length in zip(axes, op.order, op.value.type.shape, strict=True):
            if (1 if axis is None else self.grid[axis]) * length < shape[number]:
                raise DependsOnTiles(f"not all of {self.graph.slots[slot].name} is written")
        if any(a is not None and b is not None and a != b for a, b in zip(axes, value.axes, strict=True)):
            raise DependsOnTiles("a tile is stored with other axes than it was loaded with")
        return slot, axes, op.order, op.check_bounds, value.expression

    # ---- values

    def _value(self, op: Any) -> Position | Element:
        place = self._place(op)
        if place is not None:
            return place
        match op:
            case Constant():
                key = ("constant", repr(op.value), op.type.dtype)
                return Element(self._number(key), (None,) * len(op.type.shape))
            case Load():
                axes = self._axes(op)
                return Element(self._number(("load", self.slot_of[op.array], axes, op.order, op.padding,
                                             op.check_bounds)), axes)
            case Broadcast() | Reshape() | Permute():
                source = self._element(op.src)
                return Element(source.expression, self._reshaped(op, source.axes))
        if not op.elementwise or op.effectful or op.blocks:
            raise DependsOnTiles(f"{op.opcode} takes tiles as wholes")
        return self._elementwise(op)

    def _elementwise(self, op: Op) -> Element:
        sources = [self._element(v) for v in op.operands]
        axes: list[int | None] = [None] * len(op.results[0].type.shape)
        for source in sources:
            for k, axis in enumerate(source.axes):
                if axis is not None and axes[k] not in (None, axis):
                    raise DependsOnTiles("tiles of different axes meet")
                axes[k] = axes[k] if axis is None else axis
        plain = tuple((n, repr(v)) for n, v in op.attributes.items() if n not in SHAPES)
        return Element(self._number((op.opcode, plain, tuple(s.expression for s in sources))), tuple(axes))

    def _place(self, op: Any) -> Position | None:
        """The place that an op computes from places, None if it computes something else."""
        result = op.results[0].type if op.results else None
        if not isinstance(result, TileType) or not result.dtype.is_int:
            return None
        match op:
            case BlockId():
                return Position(0, ((op.axis, 1),))
            case Iota():
                return Position(0, (), ((0, 1),))
            case Constant():
                return Position(int(op.value))
            case Extent() | Stride() if op.array in self.slot_of:
                info = self.graph.slots[self.slot_of[op.array]].info
                return Position((info.shape if isinstance(op, Extent) else info.strides)[op.axis])
        sources = [self.known.get(v) for v in op.operands]
        places = [s for s in sources if isinstance(s, Position)]
        return _combined(op, places) if places and len(places) == len(sources) else None

    def _element(self, value: Value) -> Element:
        """A value as an expression: of a place, its sum of places along axes of the grid."""
        found = self.known.get(value)
        if isinstance(found, Element):
            return found
        rank = len(value.type.shape)
        if found is None:  # a scalar argument
            return Element(self._number(("argument", self.slot_of[value])), (None,) * rank)
        blocks, axes = dict(found.blocks), [None] * rank
        sums: list[tuple[int, int]] = []
        for k, step in found.inner:
            axis = next((a for a, b in blocks.items() if b == step * self.tiles.get(a, 0)), None)
            if axis is None:
                raise DependsOnTiles("an index within a tile is used as a number")
            del blocks[axis]
            axes[k] = axis  # type: ignore[call-overload]
            sums.append((axis, step))
        for axis, step in blocks.items():
            if self.tiles.get(axis) != 1:
                raise DependsOnTiles("the number of a block is used as a number")
            sums.append((axis, step))
        return Element(self._number(("place", found.start, tuple(sorted(sums)), value.type.dtype)), tuple(axes))

    def _number(self, key: Any) -> int:
        """The number of an expression: equal ones of one graph have the same."""
        return self.graph.expressions.setdefault(key, len(self.graph.expressions))

    def _reshaped(self, op: Any, axes: Axes) -> Axes:
        if isinstance(op, Permute):
            return tuple(axes[a] for a in op.axes)
        return _moved(axes, op.src.type.shape, op.shape)


def _moved(axes: Sequence[Any], old: tuple[int, ...], new: tuple[int, ...]) -> tuple[Any, ...]:
    """What is said of the axes of a tile, for a broadcast or a reshape of it that adds or drops axes of length 1."""
    if not old:
        return (None,) * len(new)
    if len(old) == len(new) and all(a in (1, b) for a, b in zip(old, new, strict=True)):
        return tuple(axes)
    if [n for n in old if n > 1] != [n for n in new if n > 1]:
        raise DependsOnTiles("a tile is cut anew")
    long = iter(a for a, n in zip(axes, old, strict=True) if n > 1)
    return tuple(next(long) if n > 1 else None for n in new)


def _combined(op: Any, places: Sequence[Position]) -> Position | None:
    """A sum, a multiple or a change of shape of places."""
    match op:
        case Add() | Sub():
            sign = 1 if isinstance(op, Add) else -1
            return _sum(places[0], _times(places[1], sign))
        case Mul():
            for one, other in (places, places[::-1]):
                if not one.blocks and not one.inner:
                    return _times(other, one.start)
            return None
        case Cast() | AssumeDivisible():
            return places[0] if op.results[0].type.dtype.bitwidth >= op.src.type.dtype.bitwidth else None
        case Broadcast() | Reshape() | Permute():
            inner = dict(places[0].inner)
            steps = [inner.get(k, 0) for k in range(len(op.src.type.shape))]
            if isinstance(op, Permute):
                steps = [steps[a] for a in op.axes]
            else:
                steps = [s or 0 for s in _moved(steps, op.src.type.shape, op.shape)]
            return Position(places[0].start, places[0].blocks, tuple((k, s) for k, s in enumerate(steps) if s))
    return None


def _sum(one: Position, other: Position) -> Position:
    def add(a: tuple[tuple[int, int], ...], b: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
        total = dict(a)
        for key, step in b:
            total[key] = total.get(key, 0) + step
        return tuple(sorted((key, step) for key, step in total.items() if step))

    return Position(one.start + other.start, add(one.blocks, other.blocks), add(one.inner, other.inner))


def _times(place: Position, factor: int) -> Position:
    if not factor:
        return Position(0)
    blocks, inner = (tuple((key, step * factor) for key, step in steps) for steps in (place.blocks, place.inner))
    return Position(place.start * factor, blocks, inner)
