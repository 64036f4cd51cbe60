"""Arrays as the launch sees them: parameters, entries of lists, and slices of these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tilewright.tileir.core import Value
from tilewright.tileir.ops.arith import Constant
from tilewright.tileir.ops.arrays import Extent, ListItem, SliceArray


class Described(NamedTuple):
    """An array as the launch has it: `root` is the parameter `param`, or the array at the place `entry` of that
    list; the array is what remains of it after `slices`, the last first."""

    param: Value
    root: Value
    entry: Value | None = None
    slices: tuple[SliceArray, ...] = ()

    @property
    def clips(self) -> tuple[int, ...]:
        """The axes along which a slice may end before what it is a part of."""
        return tuple(sorted({op.axis for op in self.slices if not _reaches_the_end(op)}))

    @property
    def sliced(self) -> tuple[int, ...]:
        """The axes along which it is sliced."""
        return tuple(sorted({op.axis for op in self.slices}))

    @property
    def scalars(self) -> tuple[Value, ...]:
        """What the place of the array is computed from."""
        bounds = (bound for op in self.slices for bound in (op.start, op.stop))
        return (*bounds, *(() if self.entry is None else (self.entry,)))


def _reaches_the_end(op: SliceArray) -> bool:
    """Whether a slice is known to end where what it is a part of does: what is beyond one is beyond the other."""
    stop, whole = op.stop.op, op.array
    while isinstance(whole.op, SliceArray) and whole.op.axis != op.axis:
        whole = whole.op.array
    if isinstance(stop, Extent):
        return stop.axis == op.axis and stop.array is whole
    return isinstance(stop, Constant) and stop.value == whole.type.extents[op.axis]


def root_of(array: Value) -> Value:
    """The array that slices are made of."""
    while isinstance(array.op, SliceArray):
        array = array.op.array
    return array


def in_list(array: Value) -> bool:
    """Whether an array is an entry of a list, or a slice of one."""
    return isinstance(root_of(array).op, ListItem)


def described(array: Value, params: Sequence[Value]) -> Described | None:
    """None for what the launch cannot see: an array that a loop carries, or that a branch chooses."""
    root, slices = root_of(array), list[SliceArray]()
    while isinstance(array.op, SliceArray):
        slices.append(array.op)
        array = array.op.array
    op = root.op
    param, entry = (op.list, op.index) if isinstance(op, ListItem) else (root, None)
    return Described(param, root, entry, tuple(slices)) if param in params else None
