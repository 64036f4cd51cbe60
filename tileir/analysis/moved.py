"""Operands that are other tiles with their axes moved: what they come from, and as which of its axes."""

from __future__ import annotations

from collections.abc import Collection

from tilewright.tileir.analysis.chains import only_used_by
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.core import Block, Op, Value
from tilewright.tileir.dtypes import float32, tfloat32
from tilewright.tileir.ops.convert import Cast
from tilewright.tileir.ops.memory import Gather, Load
from tilewright.tileir.ops.shape import Permute, Reshape

Axes = list[int | None]
MOST_STEPS = 32  # most ops between an operand and the load whose array decides the dense axis


def is_moved_only(value: Value) -> bool:
    """Whether an operand is a loaded or gathered tile, at most with permuted axes."""
    return isinstance(source_of(value)[0].op, (Load, Gather))


def source_of(value: Value) -> tuple[Value, list[Op]]:
    """The value from which permutations and reshapes (of axes of length 1) make an operand, and these ops, last one
    first.

    A cast of float32 to tfloat32 counts as one of them: TMA rounds while it copies.
    """
    passed: list[Op] = []
    op = value.op
    while isinstance(op, Permute) or (isinstance(op, Reshape) and keeps_axes(op)) or is_tf32_cast(op):
        assert isinstance(op, (Permute, Reshape, Cast))
        passed.append(op)
        value = op.src
        op = value.op
    return value, passed


def load_of(value: Value) -> tuple[Load | None, list[Op]]:
    """The load of as many elements that a tile is moved or computed from, element by element, and the ops between, last
    one first; no load where there is none, or only many steps away."""
    path: list[Op] = []
    while not isinstance(value.op, Load):
        op = value.op
        if op is None or len(path) == MOST_STEPS:
            return None, path
        if not (isinstance(op, Permute) or op.elementwise or (isinstance(op, Reshape) and keeps_axes(op))):
            return None, path
        path.append(op)
        tiles = [v for v in op.operands if getattr(v.type, "shape", ()) and v.type.size == op.results[0].type.size]
        if not tiles:
            return None, path
        value = max(tiles, key=lambda v: isinstance(source_of(v)[0].op, Load))
    return value.op, path


def moves_to(ends: Collection[Op], block: Block, unit: Unit) -> list[Op]:
    """The ops of a block that move axes for the first operands of some ops, and for nothing else; last one first."""
    moves = {op for end in ends for op in source_of(end.operands[0])[1]}
    out: list[Op] = []
    for op in reversed(block.ops):
        if op in moves and only_used_by(op.results[0], [*ends, *out], unit):
            out.append(op)
    return out


def is_tf32_cast(op: Op | None) -> bool:
    return isinstance(op, Cast) and op.dtype is tfloat32 and op.src.type.dtype is float32


def keeps_axes(op: Reshape) -> bool:
    """Whether a reshape adds and drops axes of length 1 alone."""
    return [n for n in op.shape if n > 1] == [n for n in op.src.type.shape if n > 1]


def view_of(value: Value) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(axes, shape) of a `shared_view` that shows what `source_of` finds as `value`."""
    source, passed = source_of(value)
    rank = len(source.type.shape)
    axes: Axes = list(range(rank))
    for op in reversed(passed):
        axes = moved_axes(op, axes)
    kept = [a for a in axes if a is not None]
    return (*(a for a in range(rank) if a not in kept), *kept), tuple(value.type.shape)


def moved_axes(op: Op, axes: Axes) -> Axes:
    """Of which axes those of an op's result are, if `axes` says that of its source. None: a new one of length 1."""
    if isinstance(op, Permute):
        return [axes[a] for a in op.axes]
    if not isinstance(op, Reshape):
        return axes
    long = iter([a for a, n in zip(axes, op.src.type.shape, strict=True) if n > 1])
    return [next(long) if n > 1 else None for n in op.shape]
