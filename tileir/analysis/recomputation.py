"""Wide tiles that few cheap ops compute again from narrow ones, so that the narrow ones alone need be kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tilewright.tileir.analysis.axes import is_tile
from tilewright.tileir.core import Op, Value
from tilewright.tileir.dtypes import bfloat16, float32
from tilewright.tileir.ops.convert import Cast

FEW = 5  # ops that compute a tile again at most


def is_widening(op: Op) -> bool:
    """Whether an op makes float32 of bfloat16, by one instruction for each element."""
    return isinstance(op, Cast) and op.src.type.dtype is bfloat16 and op.dtype is float32


def widens(op: Op) -> bool:
    """Whether an op makes wider floats of a tile: ptxas rematerialises them, one instruction for each."""
    return (isinstance(op, Cast) and op.dtype.is_float and op.src.type.dtype.is_float
            and op.dtype.bytes > op.src.type.dtype.bytes)


def recomputation(value: Value, dear: Callable[[Op], bool], is_index: Callable[[Value], bool]) -> Sequence[Op]:
    """The ops that compute a tile again from one that is half as wide; none where it is to be kept. `dear`: what takes
    several instructions; `is_index`: which tiles are made of numbers and indices wherever they are used."""
    def chain(value: Value, left: int = FEW) -> list[Op] | None:
        """None where there are more than so many ops in a row, of which each may have two operands."""
        op = value.op
        if op is None or not op.elementwise or dear(op):
            return [] if is_index(value) else None
        if is_widening(op):
            return [op]
        parts = [chain(v, left - 1) for v in op.operands if is_tile(v)] if left else [None]
        return None if None in parts else [*(inner for part in parts for inner in part or ()), op]

    found = chain(value) or []
    return found if len(found) <= FEW and sum(map(is_widening, found)) == 1 else ()
