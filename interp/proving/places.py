"""Where an array's elements lie: views are followed to the argument that they are views of."""

from __future__ import annotations

from typing import NamedTuple

from tilewright.interp.proving.solver import Formula, z3
from tilewright.interp.proving.terms import Terms
from tilewright.tileir.core import Value
from tilewright.tileir.ops.arrays import RawView, SliceArray


class Place(NamedTuple):
    """An array as a part of `root`, which begins at `offsets`. `root` is None where that is not known: an item of a
    list, memory without shape, an array that a loop carries."""

    root: Value | None
    offsets: tuple[Formula, ...]


def place_of(t: Terms, array: Value) -> Place:
    op = array.op
    if isinstance(op, SliceArray):
        root, offsets = place_of(t, op.array)
        return Place(root, tuple(o + t.at(op.start) if k == op.axis else o for k, o in enumerate(offsets)))
    rank = array.type.rank
    known = array in t.world.function.params
    return Place(array if known else None, (z3().IntVal(0),) * rank)


def extent_of(t: Terms, array: Value, axis: int) -> Formula:
    """The extent of an array along an axis, as the kernel sees it."""
    op = array.op
    if not isinstance(op, SliceArray):
        return t.world.extent(array, axis)
    inner = extent_of(t, op.array, axis)
    if axis != op.axis:
        return inner
    start, stop = t.at(op.start), t.at(op.stop)
    return stop - start


def is_shapeless(array: Value) -> bool:
    """Whether nobody knows where the array ends."""
    return isinstance(array.op, RawView)
