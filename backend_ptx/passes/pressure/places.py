"""Where loads read: the same place in all blocks, or one that counts up from block to block."""

from __future__ import annotations

from tilewright.tileir.core import Value
from tilewright.tileir.ops.arith import Constant
from tilewright.tileir.ops.arrays import BlockId


def same_for_all(index: tuple[Value, ...]) -> bool:
    """Whether all blocks read the tile at this place."""
    return all(isinstance(value.op, Constant) for value in index)


def counts_blocks(value: Value) -> bool:
    """Whether an index counts up from block to block."""
    op = value.op
    return isinstance(op, BlockId) or op is not None and not op.blocks and any(map(counts_blocks, op.operands))
