"""Outputs whose last part the grid leaves out: a number of blocks that was rounded down.

Only what looks like nothing else is a warning: block i writes tile i, no other op touches the array, and less than a
tile is missing. Caches and scatters write in part on purpose.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from tilewright.interp.arrays import ArrayRef
from tilewright.interp.checking.log import Log
from tilewright.interp.checking.report import Report
from tilewright.interp.checking.touches import touches
from tilewright.tileir.core import Function, Value
from tilewright.tileir.ops import arrays, convert
from tilewright.tileir.ops.memory import Store


def check_covers(
    function: Function, grid: tuple[int, int, int], arguments: Sequence[Any], declared: frozenset[int], log: Log
) -> None:
    """Look at the parameters but those of `declared`, whose unwritten elements are reported anyway."""
    for position, store in _lone_stores(function).items():
        ref = arguments[position]
        if position in declared or not isinstance(ref, ArrayRef):
            continue
        for k, axis in enumerate(store.order):
            along = _block_axis(store.index[k])
            step, length, extent = store.steps[k], store.value.type.shape[k], int(ref.extents[axis])
            if along is None:
                continue
            covered = (grid[along] - 1) * step + length
            if covered < extent < covered + step:
                log.add(("cover", store, axis), 1, partial(_report, store, axis, ref, grid[along], covered, step))


def _lone_stores(function: Function) -> dict[int, Store]:
    """Of the parameters that one store writes, in every block once, and nothing else touches: that store."""
    whole = {op for op in function.body.ops if isinstance(op, Store)}
    return {position: op for position, [op, *others] in touches(function).accesses.items()
            if not others and isinstance(op, Store) and op in whole and op.array is function.params[position]}


def _block_axis(index: Value) -> int | None:
    """The grid axis whose block number this scalar is."""
    op = index.op
    while isinstance(op, convert.Cast):
        op = op.src.op
    return op.axis if isinstance(op, arrays.BlockId) else None


def _report(store: Store, axis: int, ref: ArrayRef, blocks: int, covered: int, step: int) -> Report:
    extent = int(ref.extents[axis])
    first = tuple(covered * (k == axis) for k in range(len(ref.extents)))
    return Report(
        "unwritten", f"the last {extent - covered} of {extent} elements of {ref.name} along axis {axis} are never "
        "written", store.span, severity="warning", array=ref.name, index=first,
        values={"blocks": blocks, "elements of a block": step},
        reason="block i writes tile i, and less than a tile is missing: the number of blocks was rounded down",
        hint=f"use cdiv({extent}, {step}), which rounds up")
