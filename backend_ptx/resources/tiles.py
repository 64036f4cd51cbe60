"""Whether the tiles of a kernel can exist on a target at all, whatever plan is made for them."""

from __future__ import annotations

from tilewright.backend_ptx.decisions import kib
from tilewright.backend_ptx.resources.registers import REGISTER_BYTES
from tilewright.backend_ptx.targets import Target
from tilewright.tileir.analysis.live import live_ranges
from tilewright.tileir.core import Function, Value
from tilewright.tileir.diagnostics import TileValueError
from tilewright.tileir.ops.arith import Constant
from tilewright.tileir.ops.shape import Broadcast, Iota, Permute, Reshape
from tilewright.tileir.types import TileType

LISTED = 6


def room(target: Target) -> int:
    """Bytes of tiles that a CTA can hold: the registers of its threads and its shared memory."""
    return target.registers_per_thread * target.threads_per_block * REGISTER_BYTES + target.shared_per_block


def too_large(function: Function, target: Target) -> TileValueError | None:
    """The error for a function whose tiles do not fit, at the user's line; None where they do."""
    ranges = live_ranges(function.body, {}, lambda op: map(_held, op.operands), _held)
    found = ((op, dict(alive)) for op, alive in ranges)
    op, alive = max(found, key=lambda at: sum(at[1].values()), default=(None, {}))
    total = sum(alive.values())
    if op is None or total <= room(target):
        return None
    largest = sorted(filter(alive.get, alive), key=lambda tile: (-alive[tile], tile.hint))[:LISTED]
    return TileValueError(
        f"tiles of {kib(total)} are live at once; a block on {target} holds at most {kib(room(target))}",
        op.span, label="at this operation", hints=["use smaller tiles"],
        notes=[f"{tile.hint or 'a tile'}: {tile.type.erased()}, {kib(alive[tile])}" for tile in largest])


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
