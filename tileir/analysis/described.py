"""Arrays as the launch sees them: parameters, entries of lists, and slices of these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tilewright.tileir.core import Value
from tilewright.tileir.ops.arrays import ListItem, SliceArray


class Described(NamedTuple):
    """An array as the launch has it: `root` is the parameter `param`, or the array at the place `entry` of that
    list; the array is what remains of it after `slices`, the last first."""

    param: Value
    root: Value
    entry: Value | None = None
    slices: tuple[SliceArray, ...] = ()

    @property
    def clips(self) -> tuple[int, ...]:
        """The axes along which it is sliced."""
        return tuple(sorted({op.axis for op in self.slices}))

    @property
    def scalars(self) -> tuple[Value, ...]:
        """What the place of the array is computed from."""
        bounds = (bound for op in self.slices for bound in (op.start, op.stop))
        return (*bounds, *(() if self.entry is None else (self.entry,)))


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
