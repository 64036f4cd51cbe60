"""Chunks that are rectangles of two grid axes, for kernels whose products have operands by row or by column.

In a chunk of consecutive blocks each block has operands of its own, though all blocks of a row of the grid load the
same tile of A, and all of a column the same tile of B. In a rectangle such tiles are *thin*: they are held once for
each row or column and computed with once, and the tiles of A are one tall operand. All other values are held for each
block, as in any chunk, the axis of A the faster one. It is worth it for tiles of B alone, too: the keys and values of a
head, with which all its queries are multiplied.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tilewright.interp.uniform import varying_values
from tilewright.tileir.analysis.effects import Dependences
from tilewright.tileir.core import Function, Op, Value
from tilewright.tileir.ops import control, matmul, memory, shape

Thin = dict[Value, int]
"""The axis of the grid along which a value varies, of those that are held for each position along it."""

_SHAPES = (shape.Reshape, shape.Permute, shape.Broadcast)


def thin_values(function: Function, axes: tuple[int, int], copied: frozenset[int], dependences: Dependences) -> Thin:
    """The thin values of chunks along two axes, that of left operands first; none where blocks diverge."""
    by_axis = {axis: varying_values(function, frozenset((axis,))) for axis in axes}
    both = by_axis[axes[0]] | by_axis[axes[1]]
    if any(v in both for op in function.walk() for v in _decisions(op)):
        return {}
    thin: Thin = {}
    for op in function.walk():
        if not _may_be_thin(op) or any(not copied.isdisjoint(dependences.parameters(h)) for h in op.effects().reads):
            continue
        [result] = op.results
        along = [axis for axis in axes if result in by_axis[axis]]
        # What it is made of is thin too, but for indices, which are numbers.
        own = (op.array,) if isinstance(op, memory.Load) else op.operands
        if len(along) == 1 and result.type.shape and all(v in thin or v not in both for v in own):
            thin[result] = along[0]
    return _used_by_products(function, thin, axes, both)


def _decisions(op: Op) -> tuple[Value, ...]:
    """The values that say where control goes."""
    if isinstance(op, control.If):
        return (op.cond,)
    if isinstance(op, control.For):
        return (op.lower, op.upper, op.step)
    return (op.cond,) if isinstance(op, control.Condition) else ()


def _may_be_thin(op: Op) -> bool:
    return isinstance(op, (memory.Load, *_SHAPES)) or (op.elementwise and len(op.results) == 1)


def _used_by_products(function: Function, thin: Thin, axes: tuple[int, int], varying: set[Value]) -> Thin:
    """Those of which nothing but products, and others of them, need the elements."""
    size = -1
    while size != len(thin):
        size = len(thin)
        for op in function.walk():
            if isinstance(op, matmul.Mma) and _by_column(op, thin, axes, varying):
                wrong = [op.acc]
            elif op.results and op.results[0] in thin:
                wrong = []
            else:
                wrong = list(op.operands)
            for value in wrong:
                thin.pop(value, None)
        # A thin value's operands are thin, or do not vary.
        for value in list(thin):
            if not isinstance(value.op, memory.Load) and any(
                    v in varying and v not in thin for v in value.op.operands):  # type: ignore[union-attr]
                del thin[value]
    return thin


def _by_column(op: matmul.Mma, thin: Thin, axes: tuple[int, int], varying: set[Value]) -> bool:
    """A product of tiles along the first axis, or of tiles of all blocks, with tiles along the second."""
    left = op.a in varying and thin.get(op.a, axes[0]) == axes[0]
    return len(op.a.type.shape) == 2 and left and thin.get(op.b) == axes[1]


def sides(grid: tuple[int, int, int], axes: tuple[int, int], limit: int) -> tuple[int, int]:
    """Lengths along the two axes of rectangles of at most so many blocks, which cut the grid into equal pieces."""
    first, second = ({-(-grid[axis] // pieces) for pieces in range(1, 17)} for axis in axes)
    fitting = [(a * b, min(a, b), a, b) for a in first for b in second if a * b <= limit]
    if not fitting:
        return 1, 1
    *_, a, b = max(fitting)
    return a, b


def rectangles(grid: tuple[int, int, int], axes: tuple[int, int], limit: int) -> Iterator[tuple[int, Any, Any]]:
    """The chunks: how many blocks, their coordinates, and the lengths along both axes."""
    first, second = axes
    lengths = sides(grid, axes, limit)
    [third] = {0, 1, 2} - set(axes)
    for z in range(grid[third]):
        for y in range(0, grid[second], lengths[1]):
            for x in range(0, grid[first], lengths[0]):
                one = np.arange(x, min(x + lengths[0], grid[first]), dtype=np.int32)
                other = np.arange(y, min(y + lengths[1], grid[second]), dtype=np.int32)
                ids: list[Any] = [np.int32(z)] * 3
                ids[first], ids[second] = np.tile(one, len(other)), np.repeat(other, len(one))
                yield len(one) * len(other), tuple(ids), {first: len(one), second: len(other)}
