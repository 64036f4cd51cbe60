"""Bytes of live tiles in a kernel, before layouts and instructions are chosen."""

from __future__ import annotations

from collections.abc import Collection

from tilewright.backend_ptx.resources.registers import taken
from tilewright.tileir.analysis.uses import viewed
from tilewright.tileir.core import Block, Function, Value
from tilewright.tileir.types import TileType


def peak_tile_bytes(function: Function) -> int:
    """The most bytes of tiles live at one op, its operands and results included."""
    return _peak(function.body, set())


def held_tile_bytes(block: Block, elsewhere: Collection[Value] = ()) -> int:
    """The bytes of the tiles that a block takes from outside: they are live throughout it. Those in `elsewhere` are not
    in registers."""
    return _bytes({viewed(v) for v in taken(block) if v not in elsewhere})


def _peak(block: Block, after: set[Value]) -> int:
    """`after`: the values that are live after the block or throughout it."""
    alive, peak = set(after), 0
    for op in reversed(block.ops):
        needed = {viewed(v) for v in op.operands}
        outer = {viewed(v) for inner in op.blocks for v in taken(inner)}
        through = (alive - set(op.results)) | outer
        peak = max(peak, _bytes(alive | set(op.results) | needed | outer), *(_peak(b, through) for b in op.blocks))
        alive = through | needed
    return max(peak, _bytes(alive | set(block.params)))


def _bytes(values: set[Value]) -> int:
    tiles = [v for v in values if isinstance(v.type, TileType) and v.type.shape]
    stored = (v for v in tiles if v.op is None or not (v.op.view or v.op.rematerializable))
    return sum(v.type.size * v.type.dtype.bytes for v in stored)
