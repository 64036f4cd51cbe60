"""How many bytes of tiles are alive at one place of a kernel, before layouts and instructions are chosen."""

from __future__ import annotations

from collections.abc import Collection

from tilewright.tileir.core import Block, Function, Value
from tilewright.tileir.ops.arith import Constant
from tilewright.tileir.ops.shape import Broadcast, Iota, Reshape
from tilewright.tileir.types import TileType

_VIEWS = (Broadcast, Reshape)  # their elements are those of their operand
_MADE_IN_PLACE = (Constant, Iota)  # immediates, or made where they are used


def peak_tile_bytes(function: Function) -> int:
    """The largest sum of the bytes of all tiles alive at one op, its operands and results among them."""
    return _peak(function.body, set())


def held_tile_bytes(block: Block, elsewhere: Collection[Value] = ()) -> int:
    """The bytes of the tiles that a block takes from outside: they are kept as long as it runs. Those in `elsewhere`
    are not in registers."""
    return _bytes({_held(v) for v in _free(block) if v not in elsewhere})


def _peak(block: Block, after: set[Value]) -> int:
    """`after`: the values that are needed after the block or during all of it."""
    alive, peak = set(after), 0
    for op in reversed(block.ops):
        needed = {_held(v) for v in op.operands}
        outer = {_held(v) for inner in op.blocks for v in _free(inner)}
        through = (alive - set(op.results)) | outer
        peak = max(peak, _bytes(alive | set(op.results) | needed | outer), *(_peak(b, through) for b in op.blocks))
        alive = through | needed
    return max(peak, _bytes(alive | set(block.params)))


def _held(value: Value) -> Value:
    """The value whose registers hold a view."""
    while isinstance(value.op, _VIEWS):
        value = value.op.src
    return value


def _free(block: Block) -> set[Value]:
    """The values that a block takes from outside."""
    used: set[Value] = set()
    own: set[Value] = set(block.params)
    for op in block.walk():
        used.update(op.operands)
        own.update(op.results)
        for inner in op.blocks:
            own.update(inner.params)
    return used - own


def _bytes(values: set[Value]) -> int:
    tiles = [v for v in values if isinstance(v.type, TileType) and v.type.shape]
    return sum(v.type.size * v.type.dtype.bytes for v in tiles if not isinstance(v.op, (*_VIEWS, *_MADE_IN_PLACE)))
