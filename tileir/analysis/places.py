"""Where loads read: whether all blocks of a launch read the same place."""

from __future__ import annotations

from tilewright.tileir.core import Value
from tilewright.tileir.ops.arith import Constant


def same_for_all(index: tuple[Value, ...]) -> bool:
    """Whether all blocks read the tile at this place."""
    return all(isinstance(value.op, Constant) for value in index)
