"""Adjoints of changes of shape."""

from __future__ import annotations

from tilewright.tileir.core import Value
from tilewright.tileir.derivatives.reverse import Reverse
from tilewright.tileir.derivatives.rules import ADJOINTS, adjoint, constant
from tilewright.tileir.dtypes import int32
from tilewright.tileir.ops import shape
from tilewright.tileir.ops.arith import And, Eq, FloorDiv, Mod

ADJOINTS.add(shape.Iota, constant)


@adjoint(shape.Broadcast)
def broadcast(op: shape.Broadcast, g: Value, r: Reverse) -> None:
    """The sum over the axes that were repeated."""
    old = op.src.type.shape
    axes = [k for k, n in enumerate(op.shape) if not old or old[k] != n]
    r.give(op.src, lambda: r.b.reshape(r.b.sum(g, axes), old))


@adjoint(shape.Reshape)
def reshape(op: shape.Reshape, g: Value, r: Reverse) -> None:
    r.give(op.src, lambda: r.b.reshape(g, op.src.type.shape))


@adjoint(shape.Permute)
def permute(op: shape.Permute, g: Value, r: Reverse) -> None:
    back = tuple(op.axes.index(k) for k in range(len(op.axes)))
    r.give(op.src, lambda: r.b.value(shape.Permute(src=g, axes=back)))


@adjoint(shape.Cat)
def cat(op: shape.Cat, g: Value, r: Reverse) -> None:
    """Each operand's half."""
    for half, operand in enumerate((op.lhs, op.rhs)):
        def part(half: int = half, operand: Value = operand) -> Value:
            index = tuple(r.b.number(half if k == op.axis else 0) for k in range(operand.type.rank))
            return r.b.value(shape.Extract(src=g, index=index, shape=operand.type.shape))

        r.give(operand, part)


@adjoint(shape.Extract)
def extract(op: shape.Extract, g: Value, r: Reverse) -> None:
    """A tile of zeros with the adjoint at its place."""
    r.give(op.src, lambda: _insert(op, g, r))


def _insert(op: shape.Extract, g: Value, r: Reverse) -> Value:
    b, whole, part = r.b, op.src.type.shape, op.shape
    inside: Value | None = None
    for axis, (n, m) in enumerate(zip(whole, part, strict=True)):
        if n == m:
            continue
        now = g.type.shape
        copies = b.spread(b.reshape(g, (*now[:axis], 1, *now[axis:])), (*now[:axis], n // m, *now[axis:]))
        g = b.reshape(copies, (*now[:axis], n, *now[axis + 1 :]))
        positions = b.positions(whole, axis, int32)
        tiles = b.value(FloorDiv(lhs=positions, rhs=b.like(positions, m)))
        here = b.compare(Eq, tiles, b.spread(b.cast(r.now(op.index[axis]), int32), whole))
        inside = here if inside is None else b.value(And(lhs=inside, rhs=here))
    return g if inside is None else b.select(inside, g, b.like(g, 0.0))


@adjoint(shape.Take)
def take(op: shape.Take, g: Value, r: Reverse) -> None:
    """Each position gets the sum of what was taken from it."""
    r.give(op.src, lambda: _put(op, g, r))


def _put(op: shape.Take, g: Value, r: Reverse) -> Value:
    b, axis, length = r.b, op.axis, op.src.type.shape[op.axis]
    taken = g.type.shape
    index = b.cast(r.now(op.index), int32)
    index = b.value(Mod(lhs=index, rhs=b.like(index, length)))
    column, all_pairs = (*taken[:axis], 1, *taken[axis:]), (*taken[:axis], length, *taken[axis:])
    wanted = b.spread(b.reshape(index, column), all_pairs)
    here = b.compare(Eq, wanted, b.positions(all_pairs, axis, int32))
    each = b.spread(b.reshape(g, column), all_pairs)
    return b.sum(b.select(here, each, b.like(each, 0.0)), [axis + 1])
