"""Words of a thread: how many hold a tile, and which tiles are rematerialised wherever they are used."""

from __future__ import annotations

from tilewright.tileir.core import Value
from tilewright.tileir.layouts.queries import registers
from tilewright.tileir.ops.shape import Broadcast, Reshape
from tilewright.tileir.types import TileType

WORD = 4  # bytes


def is_uniform(value: Value, known: dict[Value, bool] | None = None) -> bool:
    """Whether a tile is one register, or made of indices: it is rematerialised where it is used. `known`: answers from
    before, while the function stays as it is; it gains this one, and those that follow from it: of a chain of ops whose
    end is asked for first, each would else be walked to its start."""
    known = {} if known is None else known
    pending: list[Value] = [value]
    users: dict[Value, Value | None] = {value: None}
    while pending:
        now = pending.pop()
        op = now.op
        if known.get(now) or not isinstance(now.type, TileType) or not now.type.shape:
            continue
        if now in known or op is None or not (
                op.rematerializable or op.elementwise or isinstance(op, (Reshape, Broadcast))):
            user: Value | None = now
            while user is not None:
                known[user] = False
                user = users[user]
            return False
        if not op.rematerializable and not (isinstance(op, Broadcast) and registers_of(op.src) <= 1):
            for operand in op.operands:
                if operand not in users:
                    users[operand] = now
                    pending.append(operand)
    known.update(dict.fromkeys(users, True))
    return True


def registers_of(value: Value) -> int:
    """Words of a thread that hold a tile; 1 for what is no tile or has no layout yet."""
    type_ = value.type
    if not isinstance(type_, TileType) or type_.layout is None:
        return 1
    return max(1, registers(type_.layout) * type_.dtype.bytes // WORD)
