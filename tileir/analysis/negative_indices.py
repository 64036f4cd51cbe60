"""Tile indices below zero: the constant ones in code that can run are refused, others are undefined."""

from __future__ import annotations

from tilewright.tileir.core import Function
from tilewright.tileir.diagnostics import TileValueError
from tilewright.tileir.ops.arith import Constant
from tilewright.tileir.ops.memory import TileAccess


def check_indices(function: Function) -> None:
    """Raise TileValueError, with its place, for a tile access with a negative constant index.

    After the passes, which remove what constants say is never reached.
    """
    for op in function.walk():
        if isinstance(op, TileAccess):
            for axis, index in enumerate(op.index):
                number = index.op.value if isinstance(index.op, Constant) else 0
                if number < 0:
                    raise _refusal(op, axis, int(number))


def _refusal(op: TileAccess, axis: int, number: int) -> TileValueError:
    name = op.array.hint or "the array"
    start = number * op.steps[axis]
    return TileValueError(
        f"{op.opcode}: the index {number} along axis {axis} of {name} is negative: the tile starts at {start}, before "
        "the array", op.span,
        hints=["tiles are counted from 0, and not from the end: the last one is ct.num_tiles(array, axis, shape) - 1",
               "if nothing shall be read there, guard the call with an if, or use ct.gather, which pads what lies "
               "outside"])
