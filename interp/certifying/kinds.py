"""How the elements of a tile belong to rows, and what each op makes of that.

A tile is *shared* (the same for all rows), *along* an axis (its element at position e belongs to row first + e alone),
or one row's *own*. Rules give the kind of an op's results; Mixed says that rows meet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from tilewright.tileir.analysis.linear import squeezed
from tilewright.tileir.core import Op, Value
from tilewright.tileir.diagnostics import NO_SPAN, Span
from tilewright.tileir.ops import arith, arrays, shape
from tilewright.tileir.ops.atomics import Atomic
from tilewright.tileir.ops.fold import Fold, ReduceWith
from tilewright.tileir.ops.matmul import Mma, MmaScaled
from tilewright.tileir.ops.reduce import ArgReduction, Reduction
from tilewright.tileir.rules import RuleTable


class Mixed(Exception):
    """Rows are not kept apart; `reason` says how. `by_use`: the place is that of the op that uses the value."""

    def __init__(self, reason: str, span: Span = NO_SPAN, by_use: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.span = span
        self.by_use = by_use


class Kind(NamedTuple):
    """`row`: the axis of the tile along which its elements are those of rows, OWN if all of it is one row's, or None if
    it is shared; `varies`: the axes along which a shared tile may vary."""

    row: int | None = None
    varies: frozenset[int] = frozenset()


OWN = -1
SHARED = Kind()


class Follower(Protocol):
    def kind(self, value: Value) -> Kind: ...


KINDS: RuleTable[Callable[[Follower, Any], Kind]] = RuleTable("kind of tile, by rows")


def joined(kinds: Iterable[Kind], op: Op | None) -> Kind:
    """Of tiles of one shape whose elements at one place are combined."""
    kinds = list(kinds)
    rows = {kind.row for kind in kinds if kind.row is not None}
    if len(rows) > 1:
        raise Mixed("elements of different rows are combined", NO_SPAN if op is None else op.span)
    if not rows:
        return Kind(None, frozenset().union(*(kind.varies for kind in kinds)))
    [row] = rows
    for kind in kinds:
        same_along(kind, row, op)
    return Kind(row)


def same_along(kind: Kind, row: int, op: Op | None) -> None:
    """A shared tile must not tell a row's position in its tile."""
    if kind.row is None and row in kind.varies:
        raise Mixed("the position of a row in its tile enters the value", NO_SPAN if op is None else op.span)


def _moved(kind: Kind, where: dict[int, int]) -> Kind:
    """The kind with axes under other numbers; those that `where` lacks are gone."""
    row = kind.row if kind.row in (None, OWN) else where[kind.row]
    return Kind(row, frozenset(where[axis] for axis in kind.varies if axis in where))


def _elementwise(rows: Follower, op: Op) -> Kind:
    return joined([rows.kind(v) for v in op.operands], op)


@KINDS.register(arith.Constant, arrays.Stride, arrays.ListLength)
def _shared(rows: Follower, op: Op) -> Kind:
    return SHARED


@KINDS.register(shape.Iota)
def _iota(rows: Follower, op: shape.Iota) -> Kind:
    return Kind(None, frozenset({0}))


@KINDS.register(arrays.BlockId, arrays.NumBlocks)
def _number(rows: Follower, op: Any) -> Kind:
    what = "the number of the block" if isinstance(op, arrays.BlockId) else "the number of blocks"
    raise Mixed(f"{what} enters the value", op.span, by_use=True)


@KINDS.register(Atomic)
def _atomic(rows: Follower, op: Atomic) -> Kind:
    raise Mixed("the old value of an atomic operation enters the value", op.span)


@KINDS.register(shape.Broadcast)
def _broadcast(rows: Follower, op: shape.Broadcast) -> Kind:
    return _moved(rows.kind(op.src), {axis: axis for axis, n in enumerate(op.src.type.shape) if n == op.shape[axis]})


@KINDS.register(shape.Permute)
def _permute(rows: Follower, op: shape.Permute) -> Kind:
    return _moved(rows.kind(op.src), {old: new for new, old in enumerate(op.axes)})


@KINDS.register(shape.Reshape)
def _reshape(rows: Follower, op: shape.Reshape) -> Kind:
    """An axis stays one where the same number of elements lies outside of it."""
    kind, where = rows.kind(op.src), squeezed(op)
    if where is None:
        where = {i: j for i, n in enumerate(op.src.type.shape) for j, m in enumerate(op.shape)
                 if n == m > 1 and _outer(op.src.type.shape, i) == _outer(op.shape, j)}
        if kind.row is None and kind.varies:
            return Kind(None, frozenset(range(len(op.shape))))
    if kind.row not in (None, OWN, *where):
        raise Mixed("a change of shape mixes rows", op.span)
    return _moved(kind, where)


def _outer(lengths: Sequence[int], axis: int) -> int:
    out = 1
    for n in lengths[:axis]:
        out *= n
    return out


@KINDS.register(shape.Cat)
def _cat(rows: Follower, op: shape.Cat) -> Kind:
    kind = _elementwise(rows, op)
    return _along_own_axis(kind, op.axis, op, "tiles are joined along the rows")


@KINDS.register(shape.Extract)
def _extract(rows: Follower, op: shape.Extract) -> Kind:
    """Along an axis that is not cut, rows stay where they are."""
    kind = joined([rows.kind(op.src), *(rows.kind(v) for v in op.index)], op)
    if kind.row not in (None, OWN) and op.shape[kind.row] != op.src.type.shape[kind.row]:
        raise Mixed("rows are taken out of a tile", op.span)
    return kind


@KINDS.register(shape.Take)
def _take(rows: Follower, op: shape.Take) -> Kind:
    return _along_own_axis(_elementwise(rows, op), op.axis, op, "elements are taken along the rows")


def _along_own_axis(kind: Kind, axis: int, op: Op, reason: str) -> Kind:
    if kind.row == axis:
        raise Mixed(reason, op.span)
    return Kind(None, kind.varies | {axis}) if kind.row is None else kind


@KINDS.register(Reduction, ArgReduction)
def _reduce(rows: Follower, op: Any) -> Kind:
    return _without(rows.kind(op.src), op.reduced_axes, len(op.src.type.shape), op)


def _without(kind: Kind, gone: Sequence[int], rank: int, op: Op) -> Kind:
    if kind.row in gone:
        raise Mixed(f"`{op.opcode}` combines rows", op.span)
    kept = [axis for axis in range(rank) if axis not in gone]
    return _moved(kind, {old: new for new, old in enumerate(kept)})


@KINDS.register(Fold)
def _fold(rows: Follower, op: Fold) -> Kind:
    inner = {param for param in op.combine.params} | {v for o in op.combine.ops for v in o.results}
    outside = [v for o in op.combine.ops for v in o.operands if v not in inner]
    kind = joined([rows.kind(v) for v in (*op.srcs, *outside)], op)
    if isinstance(op, ReduceWith):
        return _without(kind, (op.axis,), len(op.srcs[0].type.shape), op)
    return _along_own_axis(kind, op.axis, op, f"`{op.opcode}` combines rows")


@KINDS.register(Mma, MmaScaled)
def _mma(rows: Follower, op: Any) -> Kind:
    """Rows may be those of a, the columns of b, or products of a batch; not what is summed."""
    rank = len(op.acc.type.shape)
    left, right = [op.a], [op.b]
    if isinstance(op, MmaScaled):
        left, right = [op.a, op.a_scale], [op.b, op.b_scale]
    sides = [_side(rows, left, rank - 1, op), _side(rows, right, rank - 2, op)]
    return joined([*sides, rows.kind(op.acc)], op)


def _side(rows: Follower, factors: Sequence[Value], summed: int, op: Op) -> Kind:
    """What a factor says of the product: all but the axis that is summed."""
    kinds = [rows.kind(v) for v in factors]
    if any(kind.row == summed for kind in kinds):
        raise Mixed(f"`{op.opcode}` sums over rows", op.span)
    kind = joined(kinds, op)
    return Kind(kind.row, kind.varies - {summed})
