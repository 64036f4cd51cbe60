"""Which operands in shared memory an outstanding MMA may still be reading."""

from __future__ import annotations

from tilewright.backend_ptx.ops.matmul import left_outstanding
from tilewright.backend_ptx.ops.warpgroup import Stage
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.core import Block, Op


def still_read(unit: Unit) -> set[Op]:
    """The stages in loops whose MMA no wait has covered when the next iteration begins."""
    if not unit.has(Stage):
        return set()
    users, ops = unit.uses, list(unit.function.walk())
    inside = {op for loop in ops if loop.repeats for block in loop.blocks for op in block.walk()}
    blocks = {block for op in ops for block in op.blocks}
    stages = [(op, block) for block in blocks for op in block.ops if isinstance(op, Stage) and op in inside]
    return {op for op, block in stages if not all(_is_waited_for(p, block) for p in users.get(op.result, []))}


def _is_waited_for(product: Op, block: Block) -> bool:
    """Whether an MMA of this block is complete at the block's end."""
    if product not in block.ops:
        return False
    after = block.ops[block.ops.index(product):]
    return any(left_outstanding(op) == 0 for op in after)
