"""Adjoints of reductions and scans by a function.

A scan is y[i] = f(y[i-1], x[i]) in its order. The adjoints follow from its end: w[i] = g[i] + M[i] w[i+1], with the
slopes M[i] of f at (y[i], x[i+1]) by its first arguments; that is a scan in the other direction, of pairs (M, g), which
compose as affine maps do. x[i] then gets w[i] times the slope of f by its second arguments. Slopes are computed for all
elements at once: the function's body becomes ops on tiles. A reduction is the last element of a scan.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.tileir.core import Block, Op, Value
from tilewright.tileir.derivatives.activity import outside_values
from tilewright.tileir.derivatives.emitter import Emitter, adjoint_type
from tilewright.tileir.derivatives.reverse import Reverse
from tilewright.tileir.derivatives.rules import ADJOINTS, refusal
from tilewright.tileir.dtypes import int32
from tilewright.tileir.ops.arith import Add, Constant, Eq, Mod
from tilewright.tileir.ops.control import Yield
from tilewright.tileir.ops.fold import Fold, ReduceWith, ScanWith
from tilewright.tileir.ops.shape import Take
from tilewright.tileir.types import TileType

Matrix = list[list[Value]]


@ADJOINTS.register(ScanWith)
def scan(op: ScanWith, r: Reverse) -> None:
    given = [r.take(result) for result in op.results]
    if _adds(op):
        r.give(op.srcs[0], _sums(r, given[0], op, reverse=not op.reverse))
        return
    _backward(op, r, [r.now(v) for v in op.results], given, op.reverse)


@ADJOINTS.register(ReduceWith)
def reduce(op: ReduceWith, r: Reverse) -> None:
    """Only the last element of the scan has an adjoint."""
    shape = op.srcs[0].type.shape
    line = [1 if k == op.axis else n for k, n in enumerate(shape)]
    given = [r.b.spread(r.b.reshape(r.take(result), line), shape) for result in op.results]
    if _adds(op):
        r.give(op.srcs[0], given[0])
        return
    last = _at(r.b, shape, op.axis, shape[op.axis] - 1)
    given = [r.b.select(last, g, r.b.like(g, 0.0)) for g in given]
    again = ScanWith(srcs=tuple(r.now(v) for v in op.srcs), axis=op.axis, combine=_copy(op, r))
    _backward(op, r, list(r.b.emit(again).results), given, False)


def _adds(op: Fold) -> bool:
    """Whether the function is a + b."""
    first, *rest = op.combine.ops
    params, end = set(op.combine.params), op.combine.terminator.operands
    return len(rest) == 1 and isinstance(first, Add) and {first.lhs, first.rhs} == params and end == [first.result]


def _sums(r: Reverse, value: Value, op: Fold, *, reverse: bool) -> Value:
    """The cumulative sum along the op's axis."""
    one = TileType(value.type.dtype)
    with r.b.into([one, one]) as body:
        r.b.emit(Yield(values=(r.b.add(*body.params),)))
    return r.b.value(ScanWith(srcs=(value,), axis=op.axis, reverse=reverse, combine=body))


def _copy(op: Fold, r: Reverse) -> Block:
    with r.inside([p.type for p in op.combine.params]) as body:
        r.b.emit(Yield(values=tuple(r.replay_body(op.combine, body.params))))
    return body


def _backward(op: Fold, r: Reverse, scanned: list[Value], given: list[Value], reverse: bool) -> None:
    outside = next((v for v in outside_values(op.combine) if r.wants(v)), None)
    if outside is not None:
        raise refusal(op, "the function of a reduction or scan reads a value from around it that has a gradient",
                      hint="give that value as one more tile to combine")
    b, shape, axis = r.b, op.srcs[0].type.shape, op.axis
    step, first = (-1, shape[axis] - 1) if reverse else (1, 0)
    active = [k for k, v in enumerate(op.srcs) if v.type.dtype.is_float]
    before = [_shifted(b, v, axis, -step) for v in scanned]
    by_first, by_second = _slopes(op, r, before, active)
    start, end = _at(b, shape, axis, first), _at(b, shape, axis, shape[axis] - 1 - first)
    zero, one = (b.like(given[active[0]], x) for x in (0.0, 1.0))
    maps = [[b.select(end, zero, _shifted(b, v, axis, step)) for v in row] for row in by_first]
    total = _composed(b, maps, [given[k] for k in active], axis, reverse=not reverse)
    for p, k in enumerate(active):
        def part(p: int = p) -> Value:
            row = [b.select(start, one if p == q else zero, by_second[p][q]) for q in range(len(active))]
            return _sum(b, [b.mul(w, s) for w, s in zip(total, row, strict=True)])

        r.give(op.srcs[k], part)


def _slopes(op: Fold, r: Reverse, before: list[Value], active: list[int]) -> tuple[Matrix, Matrix]:
    """Of the function at (y before, x): for each float of its first and of its second arguments the slopes of its
    results, as tiles."""
    count = len(op.srcs)
    firsts, seconds = op.combine.params[:count], op.combine.params[count:]
    columns: list[tuple[list[Value], list[Value]]] = []
    kept, r.varied = r.varied, r.varied | {v for v in _values(op.combine) if v.type.dtype.is_float}
    known, adjoints = dict(r._now), r.adjoints
    _on_tiles(op, r, [*before, *(r.now(v) for v in op.srcs)])
    for k in active:
        r.adjoints = {}
        result = op.combine.terminator.operands[k]
        r.give(result, r.b.constant(1.0, adjoint_type(before[k].type)))
        r.reverse(op.combine)
        zero = r.b.constant(0.0, adjoint_type(before[k].type))
        columns.append(([r.adjoints.get(firsts[p], zero) for p in active],
                        [r.adjoints.get(seconds[p], zero) for p in active]))
    r.varied, r._now, r.adjoints = kept, known, adjoints
    return tuple([[column[side][p] for column in columns] for p in range(len(active))]  # type: ignore[return-value]
                 for side in (0, 1))


def _values(block: Block) -> list[Value]:
    return [*block.params, *(result for op in block.ops for result in op.results)]


def _on_tiles(op: Fold, r: Reverse, arguments: Sequence[Value]) -> None:
    """Append the function's ops, on tiles."""
    shape = op.srcs[0].type.shape
    outside = list(outside_values(op.combine))
    r.know(outside, [r.b.spread(r.now(v), shape) for v in outside])
    r.know(op.combine.params, arguments)
    for inner in op.combine.ops[:-1]:
        r.know(inner.results, r.b.emit(_wide(inner, r, shape)).results)


def _wide(op: Op, r: Reverse, shape: tuple[int, ...]) -> Op:
    """An element-wise op of scalars as one of tiles."""
    if isinstance(op, Constant):
        return Constant(value=op.value, type=TileType(op.type.dtype, shape))
    fields: dict[str, Any] = {name: getattr(op, name) for name in op.fields}
    for name, _ in op._operand_fields:
        fields[name] = r.now(fields[name])
    return type(op)(**fields)


def _composed(b: Emitter, maps: Matrix, given: list[Value], axis: int, *, reverse: bool) -> list[Value]:
    """The scan of affine maps: what comes first in its order is applied first."""
    count = len(given)
    flat = [*(v for row in maps for v in row), *given]
    scalars = [TileType(v.type.dtype) for v in flat]
    with b.into([*scalars, *scalars]) as body:
        late, early = (_unpacked(body.params[side * len(flat) : (side + 1) * len(flat)], count) for side in (0, 1))
        product = [_sum(b, [b.mul(early[0][p][k], late[0][k][q]) for k in range(count)])
                   for p in range(count) for q in range(count)]
        moved = [b.add(early[1][p], _sum(b, [b.mul(early[0][p][k], late[1][k]) for k in range(count)]))
                 for p in range(count)]
        b.emit(Yield(values=(*product, *moved)))
    made = b.emit(ScanWith(srcs=tuple(flat), axis=axis, reverse=reverse, combine=body))
    return list(made.results[count * count :])


def _unpacked(values: Sequence[Value], count: int) -> tuple[Matrix, list[Value]]:
    return [list(values[p * count : (p + 1) * count]) for p in range(count)], list(values[count * count :])


def _sum(b: Emitter, terms: list[Value]) -> Value:
    total = terms[0]
    for term in terms[1:]:
        total = b.add(total, term)
    return total


def _shifted(b: Emitter, value: Value, axis: int, by: int) -> Value:
    """At each position the element `by` positions further along the axis, around its end."""
    shape = value.type.shape
    there = b.positions(shape, axis, int32)
    there = b.value(Mod(lhs=b.add(there, b.like(there, by % shape[axis])), rhs=b.like(there, shape[axis])))
    return b.value(Take(src=value, index=there, axis=axis))


def _at(b: Emitter, shape: tuple[int, ...], axis: int, position: int) -> Value:
    """Where the position along the axis is this one."""
    there = b.positions(shape, axis, int32)
    return b.compare(Eq, there, b.like(there, position))
