"""Bytes of tiles that are live together."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from tilewright.tileir.analysis.axes import is_tile
from tilewright.tileir.analysis.live import Live, live_ranges
from tilewright.tileir.analysis.uses import viewed
from tilewright.tileir.core import Function, Op, Value
from tilewright.tileir.ops.shape import Broadcast


def held(value: Value) -> tuple[Value, int]:
    """The tile whose registers a value takes, and its bytes. Along axes that are broadcast, registers repeat."""
    tile = viewed(value)
    while isinstance(tile.op, Broadcast):
        tile = viewed(tile.op.src)
    stored = is_tile(tile) and not (tile.op and tile.op.rematerializable)
    return tile, tile.type.bytes if stored else 0


def peak_tile_bytes(function: Function) -> int:
    """The most bytes of tiles live at one op, its operands and results included."""
    at: dict[Op, Live] = {}
    kept = cache(held)
    for op, alive in live_ranges(function.body, {}, lambda op: map(kept, op.operands), kept):
        at.setdefault(op, {}).update(alive)
    return max((sum(alive.values()) for alive in at.values()), default=0)


def live_tile_bytes(function: Function, kept: Callable[[Value], tuple[Value, int]]) -> int:
    """The most bytes of tiles live between two ops: element by element, a result takes the registers of an operand.
    `kept`: what is kept for a value, and its bytes."""
    kept = cache(kept)
    ranges = live_ranges(function.body, {}, lambda op: map(kept, op.operands), kept)
    return max((sum(alive.values()) for _, alive in ranges), default=0)


def crossing_bytes(function: Function, kept: Callable[[Value], tuple[Value, int]]) -> int:
    """The most bytes of tiles that are live across a reduction. `kept`: what is kept for a value, and its bytes."""
    kept = cache(kept)
    states: dict[Op, list[Live]] = {}
    for op, alive in live_ranges(function.body, {}, lambda op: map(kept, op.operands), kept):
        if op.reduces:
            states.setdefault(op, []).append(dict(alive))
    crossing = ([size for v, size in after.items() if v in before] for after, before, *_ in states.values())
    return max(map(sum, crossing), default=0)
