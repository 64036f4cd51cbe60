"""Whether the tiles of a kernel can exist on a target at all, whatever plan is made for them."""

from __future__ import annotations

from typing import NamedTuple

from tilewright.backend_ptx.decisions import kib
from tilewright.backend_ptx.resources.registers import REGISTER_BYTES, live_ranges
from tilewright.backend_ptx.targets import Target
from tilewright.tileir.core import Function, Op, Value
from tilewright.tileir.diagnostics import TileValueError
from tilewright.tileir.ops.arith import Constant
from tilewright.tileir.ops.shape import Broadcast, Iota, Permute, Reshape
from tilewright.tileir.types import TileType

LISTED = 6


class Alive(NamedTuple):
    """The tiles live at one op, largest first, and their bytes."""

    bytes: int
    op: Op | None
    tiles: tuple[Value, ...]


def room(target: Target) -> int:
    """Bytes of tiles that a CTA can hold: the registers of its threads and its shared memory."""
    return target.registers_per_thread * target.threads_per_block * REGISTER_BYTES + target.shared_per_block


def too_large(function: Function, target: Target) -> TileValueError | None:
    """The error for a function whose tiles do not fit, at the user's line; None where they do."""
    found = most_alive(function)
    if found.bytes <= room(target) or found.op is None:
        return None
    notes = [f"{tile.hint or 'a tile'}: {tile.type.erased()}, {kib(_bytes(tile))}"
             for tile in found.tiles[:LISTED]]
    return TileValueError(
        f"tiles of {kib(found.bytes)} are live at once; a block on {target} holds at most "
        f"{kib(room(target))}",
        found.op.span, label="at this operation", notes=notes, hints=["use smaller tiles"])


def most_alive(function: Function) -> Alive:
    """The op, before layouts are chosen, before or after which the most bytes of tiles are live."""
    found = live_ranges(function.body, {}, lambda op: map(_held, op.operands), _held)
    op, alive = max(found, key=lambda at: sum(at[1].values()), default=(None, {}))
    tiles = sorted((v for v in alive if alive[v]), key=lambda v: (-alive[v], v.hint))
    return Alive(sum(alive.values()), op, tuple(tiles))


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
