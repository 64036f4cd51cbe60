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

Axes = list[tuple[int, ...]]  # of each axis, those of another tile that it is made of, row by row
MOST_STEPS = 32  # most ops between an operand and the load whose array decides the dense axis


def is_moved_only(value: Value) -> bool:
    """Whether an operand is a loaded or gathered tile, at most with permuted axes."""
    return isinstance(source_of(value)[0].op, (Load, Gather))


def source_of(value: Value) -> tuple[Value, list[Op]]:
    """The value from which permutations and reshapes (of axes of length 1, or of rows of a load) make an operand, and
    these ops, last one first.

    A cast of float32 to tfloat32 counts as one of them: TMA rounds while it copies.
    """
    passed: list[Op] = []
    op = value.op
    while isinstance(op, Permute) or (isinstance(op, Reshape) and moves_axes(op)) or is_tf32_cast(op):
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
        if not (isinstance(op, Permute) or op.elementwise or (isinstance(op, Reshape) and moves_axes(op))):
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


def moves_axes(op: Reshape) -> bool:
    """Whether a reshape adds and drops axes of length 1, or makes one axis of those along which a loaded tile has its
    rows, whose elements are contiguous in memory: of two rows of 64 pixels with their channels 128, say."""
    before, after = ([n for n in shape if n > 1] for shape in (op.src.type.shape, op.shape))
    if before == after:
        return True
    load = op.src.op
    while isinstance(load, Reshape) and moves_axes(load):
        load = load.src.op
    if not isinstance(load, Load) or load.array.type.strides[load.order[-1]] != 1 or load.shape[-1] == 1:
        return False
    return len(after) == 2 and after[-1] == before[-1] == load.shape[-1]


def view_of(value: Value) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(axes, shape) of a `shared_view` that shows what `source_of` finds as `value`."""
    made = axes_of(value)
    kept = [a for axes in made for a in axes]
    rank = len(source_of(value)[0].type.shape)
    return (*(a for a in range(rank) if a not in kept), *kept), tuple(value.type.shape)


def axes_of(value: Value) -> Axes:
    """The axes of what `source_of` finds, of which each axis of an operand is made."""
    source, passed = source_of(value)
    axes: Axes = [(a,) for a in range(len(source.type.shape))]
    for op in reversed(passed):
        axes = moved_axes(op, axes)
    return axes


def moved_axes(op: Op, axes: Axes) -> Axes:
    """Of which axes those of an op's result are made, if `axes` says that of its source. None of a new one of length
    1."""
    if isinstance(op, Permute):
        return [axes[a] for a in op.axes]
    if not isinstance(op, Reshape):
        return axes
    long = iter([(a, n) for a, n in zip(axes, op.src.type.shape, strict=True) if n > 1])
    out: Axes = []
    for length in op.shape:
        made: tuple[int, ...] = ()
        size = 1
        while size < length:
            more, n = next(long)
            made, size = made + more, size * n
        out.append(made)
    return out
