"""Promises that no access shows: divisors, positions in lists. A rule gives a step that runs before the op's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from tilewright.interp.arrays import ArrayRef
from tilewright.interp.checking.places import block_coordinates
from tilewright.interp.checking.report import Report
from tilewright.interp.chunk import Regs
from tilewright.interp.lowering import Lowering, Step
from tilewright.tileir.core import Op
from tilewright.tileir.ops import arrays
from tilewright.tileir.rules import RuleTable

PROMISES: RuleTable[Callable[[Any, Lowering], Step]] = RuleTable("promise that is checked")


@PROMISES.register(arrays.AssumeDivisible)
def assume_divisible(op: arrays.AssumeDivisible, low: Lowering) -> Step:
    source, divisor = low.slot(op.src), op.divisor

    def step(regs: Regs) -> None:
        value = regs[source]
        wrong = np.asarray(value % divisor != 0)
        if wrong.any():
            _report(regs, op, wrong, lambda at: Report(
                "promise", f"assume_divisible_by({_at(value, at)}, {divisor}): {_at(value, at)} is no multiple of "
                f"{divisor}", op.span, values={"value": _at(value, at), "divisor": divisor},
                reason="what assumes it may be wrong", hint="remove the assumption, or pass what fulfils it"))
    return step


@PROMISES.register(arrays.ListItem)
def list_item(op: arrays.ListItem, low: Lowering) -> Step:
    items, index = low.slot_list((op.list, op.index))

    def step(regs: Regs) -> None:
        count, value = len(regs[items]), regs[index]
        wrong = np.asarray((value < 0) | (value >= count))
        if wrong.any():
            name = op.list.hint or "the list"
            _report(regs, op, wrong, lambda at: Report(
                "bounds", f"{name}[{_at(value, at)}]: the list has {count} arrays", op.span, array=name,
                index=(_at(value, at),), values={"length": count}, reason="a position outside of a list is undefined"))
    return step


@PROMISES.register(arrays.SliceArray)
def slice_array(op: arrays.SliceArray, low: Lowering) -> Step:
    """The slice itself raises an error; this says where."""
    array, first, last = low.slot_list((op.array, op.start, op.stop))

    def step(regs: Regs) -> None:
        start, stop, extent = regs[first], regs[last], _extent(regs[array], op.axis)
        wrong = np.asarray((start < 0) | (stop < start) | (stop > extent))
        if wrong.any():
            _report(regs, op, wrong, lambda at: Report(
                "bounds", f"slice {_at(start, at)}:{_at(stop, at)} is no part of axis {op.axis}, which has "
                f"{_at(extent, at)} elements", op.span, array=op.array.hint, values={"elements": _at(extent, at)},
                reason="0 <= start <= stop <= a.shape[axis] must hold in each block"))
    return step


def _extent(array: Any, axis: int) -> Any:
    """The length of an array along an axis, in each block where arrays differ."""
    if isinstance(array, ArrayRef):
        return array.extents[axis]
    out = np.empty(array.count, np.int64)
    for one, blocks in array.groups:
        out[blocks] = one.extents[axis]
    return out


def _at(value: Any, block: int) -> int:
    return int(value[block]) if np.ndim(value) else int(value)


def _report(regs: Regs, op: Op, wrong: Any, make: Callable[[int], Report]) -> None:
    """One report for the first block (of scalars: a value has one element for each) that breaks the promise."""
    at = int(np.argmax(np.atleast_1d(wrong)))
    block = block_coordinates(regs[0], at)
    log = regs[0].memory.log
    log.add((op.opcode, op), int(np.count_nonzero(wrong)), lambda: replace(make(at), block=block))
