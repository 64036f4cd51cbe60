"""Whether the tiles of a kernel can exist in a block at all, whatever plan is made for them."""

from __future__ import annotations

from tilewright.tileir.analysis.live import live_ranges
from tilewright.tileir.core import Function, Value
from tilewright.tileir.diagnostics import TileValueError
from tilewright.tileir.ops.arith import Constant
from tilewright.tileir.ops.shape import Broadcast, Iota, Permute, Reshape
from tilewright.tileir.types import TileType

LISTED = 6


def too_large(function: Function, room: int, place: str) -> TileValueError | None:
    """The error for a function whose tiles do not fit the `room` bytes that a block has in some place, at the user's
    line; None where they do."""
    ranges = live_ranges(function.body, {}, lambda op: map(_held, op.operands), _held)
    found = ((op, dict(alive)) for op, alive in ranges)
    op, alive = max(found, key=lambda at: sum(at[1].values()), default=(None, {}))
    total = sum(alive.values())
    if op is None or total <= room:
        return None
    largest = sorted(filter(alive.get, alive), key=lambda tile: (-alive[tile], tile.hint))[:LISTED]
    return TileValueError(
        f"tiles of {_kib(total)} are live at once; a block on {place} holds at most {_kib(room)}",
        op.span, label="at this operation", hints=["use smaller tiles"],
        notes=[f"{tile.hint or 'a tile'}: {tile.type.erased()}, {_kib(alive[tile])}" for tile in largest])


def _bytes(value: Value) -> int:
    """What a tile takes; masks, constants and indices are rematerialised at their uses."""
    type_ = value.type
    if not isinstance(type_, TileType) or not type_.shape or type_.dtype.is_bool:
        return 0
    return 0 if isinstance(value.op, (Constant, Iota)) else type_.size * type_.dtype.bytes


def _held(value: Value) -> tuple[Value, int]:
    """The tile of which a value is a view, and its bytes."""
    while isinstance(value.op, (Broadcast, Permute, Reshape)):
        value = value.op.src
    return value, _bytes(value)


def _kib(size: int) -> str:
    return f"{size / 1024:g} KiB"
