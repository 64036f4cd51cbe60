"""Outputs whose last part a launch leaves out: a number of tiles that was rounded down.

Only what looks like nothing else is a warning: one store alone touches the array, it writes tile after tile from the
first on, where and whether it does so depends on nothing in memory, and less than a tile is missing. Caches and
scatters write in part on purpose.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from tilewright.interp.access import TileRegion
from tilewright.interp.arrays import ArrayRef
from tilewright.interp.checking.log import Log
from tilewright.interp.checking.report import Report
from tilewright.interp.memory import Region
from tilewright.interp.touches import touches
from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.ops import arith, arrays, control, convert
from tilewright.tileir.ops.memory import Store


class Cover(NamedTuple):
    """What a store writes along one axis of an array whose end cuts a tile: `starts` are first elements of tiles, in
    the order of the launch."""

    store: Store
    ref: ArrayRef
    along: int  # the axis of the tile
    starts: set[int]


class Covers:
    """Where the stores that could cover their arrays write. `declared` are the positions of parameters whose unwritten
    elements are reported anyway. Stores of whole blocks are known before, the others are followed."""

    def __init__(
        self, function: Function, grid: tuple[int, int, int], arguments: Sequence[Any], declared: frozenset[int]
    ) -> None:
        self._covers: list[Cover] = []
        self._followed: dict[Op, list[Cover]] = {}
        always = set(function.body.ops)
        for position, store in _lone_stores(function).items():
            ref = arguments[position]
            if position in declared or not isinstance(ref, ArrayRef):
                continue
            for k, axis in enumerate(store.order):
                step, length = store.steps[k], store.value.type.shape[k]
                # Only an end within a tile can be left out by rounding; a tile at a fixed place covers nothing.
                if (int(ref.extents[axis]) - length) % step == 0 or isinstance(store.index[k].op, arith.Constant):
                    continue
                cover = Cover(store, ref, k, set())
                self._covers.append(cover)
                block = _block_axis(store.index[k]) if store in always else None
                if block is None:
                    self._followed.setdefault(store, []).append(cover)
                else:
                    cover.starts.update(range(0, grid[block] * step, step))

    def follows(self, op: Op) -> bool:
        """Must `write` see the accesses of this op?"""
        return op in self._followed

    def write(self, region: Region, op: Op) -> None:
        """A store is about to happen."""
        if isinstance(region, TileRegion):
            for cover in self._followed.get(op, ()):
                cover.starts.update(np.unique(region.index[cover.along]).tolist())

    def finish(self, log: Log) -> None:
        """The launch has ended: look at what was covered."""
        for store, ref, k, starts in self._covers:
            axis, step, length, tiles = store.order[k], store.steps[k], store.value.type.shape[k], len(starts)
            covered = (tiles - 1) * step + length
            if covered < int(ref.extents[axis]) < covered + step and starts == set(range(0, tiles * step, step)):
                log.add(("cover", store, axis), 1, partial(_report, store, axis, ref, tiles, covered, step))


@lru_cache(maxsize=64)
def _lone_stores(function: Function) -> Mapping[int, Store]:
    """Of the parameters that one store writes, and nothing else touches, that store; but not one that what memory holds
    leads somewhere, or leads past."""
    lone = {position: op for position, [op, *others] in touches(function).accesses.items()
            if not others and isinstance(op, Store) and op.array is function.params[position]}
    if not lone:
        return lone
    free = set(_free_stores(function.body, _from_memory(function)))
    return {position: store for position, store in lone.items() if store in free}


def _block_axis(index: Value) -> int | None:
    """The grid axis whose block number this scalar is."""
    op = index.op
    while isinstance(op, convert.Cast):
        op = op.src.op
    return op.axis if isinstance(op, arrays.BlockId) else None


def _from_memory(function: Function) -> set[Value]:
    """The values that depend on what memory holds, by data or by control."""
    found: set[Value] = set()
    size = -1
    while size != len(found):
        size = len(found)
        for op in function.walk():
            found.update(_dependent(op, found))
    return found


def _dependent(op: Op, known: set[Value]) -> list[Value]:
    """What is made by an op that reads memory, or that uses such values."""
    if isinstance(op, control.For):
        # The loop variable depends on the bounds alone.
        carried = [op.lower, op.upper, op.step, *op.init, *op.loop.terminator.operands]
        bounded = any(v in known for v in carried[:3])
        some = any(v in known for v in carried)
        return [*(op.loop.params[:1] if bounded else ()), *((*op.results, *op.loop.params[1:]) if some else ())]
    inner = [v for block in op.blocks for v in block.terminator.operands]
    if op.effects().reads or any(v in known for v in (*op.operands, *inner)):
        return [*op.results, *(p for block in op.blocks for p in block.params)]
    return []


def _free_stores(block: Block, tied: set[Value]) -> list[Op]:
    """The stores that memory decides neither the index nor the execution of."""
    found: list[Op] = []
    for op in block.ops:
        if isinstance(op, Store) and not any(i in tied for i in op.index):
            found.append(op)
        decides = [*op.operands, *(v for inside in op.blocks for v in inside.terminator.operands[:1]
                                   if isinstance(inside.terminator, control.Condition))]
        if isinstance(op, control.For):
            decides = [op.lower, op.upper, op.step]
        elif isinstance(op, control.If):
            decides = [op.cond]
        if not any(v in tied for v in decides):
            for inside in op.blocks:
                found += _free_stores(inside, tied)
    return found


def _report(store: Store, axis: int, ref: ArrayRef, tiles: int, covered: int, step: int) -> Report:
    extent = int(ref.extents[axis])
    first = tuple(covered * (k == axis) for k in range(len(ref.extents)))
    return Report(
        "unwritten", f"the last {extent - covered} of {extent} elements of {ref.name} along axis {axis} are never "
        "written", store.span, severity="warning", array=ref.name, index=first,
        values={"tiles written": tiles, "elements of a tile": step},
        reason="tile after tile is written, and less than a tile is missing: the number of blocks, or of "
               "iterations, was rounded down",
        hint=f"use cdiv({extent}, {step}), which rounds up")
