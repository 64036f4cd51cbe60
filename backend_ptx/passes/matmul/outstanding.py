"""Which operands in shared memory an outstanding MMA may still be reading."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.backend_ptx.ops.matmul import left_outstanding
from tilewright.backend_ptx.ops.warpgroup import Stage
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.core import Block, Op


def still_read(unit: Unit) -> set[Op]:
    """The stages in loops whose MMA no wait has covered when the next iteration begins."""
    if not unit.has(Stage):
        return set()
    users, stages = unit.uses, _stages_in_loops(unit.function.body, False)
    return {op for op, block in stages if not all(_is_waited_for(p, block) for p in users.get(op.result, []))}


def _stages_in_loops(block: Block, in_loop: bool) -> Iterator[tuple[Stage, Block]]:
    """Each stage in a loop with the block that it stands in."""
    for op in block.ops:
        if in_loop and isinstance(op, Stage):
            yield op, block
        for inner in op.blocks:
            yield from _stages_in_loops(inner, in_loop or op.repeats)


def _is_waited_for(product: Op, block: Block) -> bool:
    """Whether an MMA of this block is complete at the block's end."""
    if product not in block.ops:
        return False
    after = block.ops[block.ops.index(product):]
    return any(left_outstanding(op) == 0 for op in after)
