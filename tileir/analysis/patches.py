"""Layouts for gathers that share elements: a thread holds a patch of neighbours, and reads what it needs of them once.

    gather(x, (y + dy, z + dz)) for dy, dz from -1 to 1      threads with 4 x 4 elements read 6 x 6, in place of 9 x 16

A generation of the game of life on 4096 x 4096 bytes takes 58 us on an H100 where each thread loads all neighbours of
16 elements, 32 where it has 16 rows of a column and loads each once, and 25 with 4 rows of 4 columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tilewright.tileir.analysis.effects import changing_arrays
from tilewright.tileir.analysis.neighbours import WIDEST, gather_run
from tilewright.tileir.analysis.same_places import Gathered
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.core import Op
from tilewright.tileir.layout import Layout
from tilewright.tileir.layouts.blocked import patched
from tilewright.tileir.layouts.flat import REGISTER
from tilewright.tileir.layouts.queries import vector_along
from tilewright.tileir.ops.memory import Gather

# Patches that leave more of the accesses are not worth it: memory likes rows better.
MOST_LEFT = 0.75


class _Shared(NamedTuple):
    """A gather, and how many elements along the fastest axis one access may move."""

    gathered: Gathered
    width: int


def patch(unit: Unit, accesses: Iterable[Op], warps: int) -> Layout | None:
    """The layout with the fewest reads for gathers among accesses of one shape; None where few elements are shared."""
    gathers = [op for op in accesses if isinstance(op, Gather) and op.shape]
    if len(gathers) < 2:
        return None
    changing = changing_arrays(unit.function)
    gathers = [op for op in gathers if changing.isdisjoint(unit.dependences.parameters(op.array))]
    if len(gathers) < 2:
        return None
    shape, bytes_ = gathers[0].shape, max(op.result.type.dtype.bytes for op in gathers)
    axes = sorted(reversed(range(len(shape))), key=lambda axis: -max(_width(unit, op, axis) for op in gathers))
    shared = [_Shared(Gathered(unit, op), _width(unit, op, axes[0])) for op in gathers]
    others = [axis for axis in axes[1:] if shape[axis] > 1] or axes[1:2]
    orders = [(axes[0], axis, *(a for a in axes[1:] if a != axis)) for axis in others] or [tuple(axes)]
    widths = [1 << bit for bit in range(5) if bytes_ << bit <= WIDEST]
    layouts = [patched(shape, order, width, warps) for order in orders for width in widths]
    reads = {layout: _reads(shared, layout, axes[0]) for layout in layouts}
    best = min(reads, key=lambda layout: reads[layout])
    size = 1 << len(best.bases(REGISTER))
    return best if reads[best] <= MOST_LEFT * sum(size / width for _, width in shared) else None


def _width(unit: Unit, op: Gather, axis: int) -> int:
    return gather_run(op.array.type, tuple(unit.runs[index] for index in op.indices), axis, WIDEST).length


def _reads(shared: Sequence[_Shared], layout: Layout, fast: int) -> int:
    """The accesses of a thread that reads each element once."""
    known, count, size = set[object](), 0, 1 << len(layout.bases(REGISTER))
    for gathered, most in shared:
        names, width = gathered.names(layout), min(most, vector_along(layout, fast))
        starts = range(0, size, width)
        count += len([at for at in starts if not names or not known.issuperset(names[at : at + width])])
        known.update(names)
    return count
