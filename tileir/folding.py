"""The function of a fold, for passes that do a fold in parts."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Block, Value
from tilewright.tileir.dtypes import bool_, int32
from tilewright.tileir.ops.arith import Constant, Gt, Lt, Or, Select
from tilewright.tileir.ops.control import Yield
from tilewright.tileir.ops.fold import Fold, ReduceWith, ScanWith
from tilewright.tileir.ops.shape import Broadcast, Iota, Reshape
from tilewright.tileir.types import TileType

Tiles = Sequence[Value]


def combined(b: Builder, op: Fold, first: Tiles, second: Tiles) -> list[Value]:
    """The function of tiles of one shape and layout, or of scalars; a scalar from outside is the same for all
    elements."""
    shape, layout = first[0].type.shape, first[0].type.layout

    def spread(of: Value) -> Value:
        return b.value(Broadcast(src=of, shape=shape)).lay_out(layout) if shape else of

    return op.of_tiles((*first, *second), spread, b.emit)


def function_of(b: Builder, op: Fold, swapped: bool = False) -> Block:
    """The function as the body of another fold; `swapped`: of its arguments in the other order."""
    params = op.combine.params
    count = len(params) // 2
    with b.into([p.type for p in params]) as body:
        first, second = body.params[:count], body.params[count:]
        given = combined(b, op, second, first) if swapped else combined(b, op, first, second)
        b.emit(Yield(values=tuple(given)))
    return body


def exclusive_scan(b: Builder, op: Fold, tiles: Tiles, axis: int, reverse: bool) -> list[Value]:
    """For each element the combination of those before it along the axis, anything where none is before it.

    A scan of triples: of a range of elements all, all but the last, and whether there are any but the last.
    """
    layout, shape = tiles[0].type.layout, tiles[0].type.shape
    none = b.value(Constant(value=False, type=TileType(bool_, shape))).lay_out(layout)
    scalars = [TileType(v.type.dtype) for v in (*tiles, *tiles, none)]
    count = len(tiles)
    with b.into(scalars * 2) as body:
        first, second = body.params[:len(scalars)], body.params[len(scalars):]
        whole = combined(b, op, first[:count], second[:count])
        before = combined(b, op, first[:count], second[count:-1])
        chosen = [b.value(Select(cond=second[-1], lhs=x, rhs=y)) for x, y in zip(before, first[:count], strict=True)]
        b.emit(Yield(values=(*whole, *chosen, b.number(True, bool_))))
    made = b.emit(ScanWith(srcs=(*tiles, *tiles, none), axis=axis, reverse=reverse, combine=body))
    return [v.lay_out(layout) for v in made.results][count:-1]


def continued(b: Builder, op: ScanWith, scanned: Tiles, totals: Tiles, rank: Value) -> list[Value]:
    """A scan of one of several parts of an axis, given its scan of that part alone. `totals`: tiles without the axis,
    which have those of all parts along a new first axis; `rank`: the number of this part."""
    parts, end = totals[0].type.shape[0], totals[0].type.shape[0] - 1 if op.reverse else 0
    order = Gt if op.reverse else Lt
    spread = Broadcast(src=rank, shape=(parts,))
    earlier = b.value(order(lhs=b.value(Iota(size=parts, dtype=int32)), rhs=b.value(spread)))
    before = _combination_of(b, op, totals, _along_first(b, earlier, totals[0].type.shape))
    wide = [_along(b, v, op.axis, y.type.shape) for v, y in zip(before, scanned, strict=True)]
    any_before = b.value(order(lhs=b.number(end), rhs=rank))
    shape = scanned[0].type.shape
    cond = b.value(Broadcast(src=any_before, shape=shape))
    joined = combined(b, op, wide, scanned)
    return [b.value(Select(cond=cond, lhs=x, rhs=y)) for x, y in zip(joined, scanned, strict=True)]


def _combination_of(b: Builder, op: ScanWith, tiles: Tiles, there: Value) -> list[Value]:
    """All along the first axis that are there, combined in the order of the scan; anything where none is."""
    scalars = [v.type.with_shape(()) for v in (*tiles, there)]
    count = len(tiles)
    with b.into(scalars * 2) as body:
        first, second = body.params[:count + 1], body.params[count + 1:]
        sides = (second, first) if op.reverse else (first, second)
        both = combined(b, op, *(side[:count] for side in sides))
        chosen = [b.value(Select(cond=first[-1], lhs=b.value(Select(cond=second[-1], lhs=x, rhs=y)), rhs=z))
                  for x, y, z in zip(both, first, second[:count], strict=False)]
        some = b.value(Or(lhs=first[-1], rhs=second[-1]))
        b.emit(Yield(values=(*chosen, some)))
    assert there.type.dtype is bool_
    return list(b.emit(ReduceWith(srcs=(*tiles, there), axis=0, combine=body)).results[:count])


def _along_first(b: Builder, value: Value, shape: tuple[int, ...]) -> Value:
    ones = b.value(Reshape(src=value, shape=(shape[0], *(1 for _ in shape[1:]))))
    return b.value(Broadcast(src=ones, shape=shape))


def _along(b: Builder, value: Value, axis: int, shape: tuple[int, ...]) -> Value:
    """A tile without an axis, the same along that."""
    ones = b.value(Reshape(src=value, shape=(*shape[:axis], 1, *shape[axis + 1:])))
    return b.value(Broadcast(src=ones, shape=shape))
