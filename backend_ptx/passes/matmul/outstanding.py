"""Which operands in shared memory an outstanding MMA may still be reading."""

from __future__ import annotations

from tilewright.backend_ptx.ops.matmul import left_outstanding
from tilewright.backend_ptx.ops.warpgroup import Stage
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.core import Block, Op


def still_read(unit: Unit) -> set[Op]:
    """The stages in loops whose MMA no wait has covered when the next iteration begins."""
    def is_complete(product: Op, block: Block) -> bool:
        """Whether an MMA of this block is complete at the block's end."""
        after = block.ops[block.ops.index(product):] if unit.homes[product] is block else []
        return any(left_outstanding(op) == 0 for op in after)

    stages = unit.function.walk() if unit.has(Stage) else ()
    return {op for op in stages if isinstance(op, Stage) and any(outer.repeats for outer in unit.around(op))
            and not all(is_complete(user, unit.homes[op]) for user in unit.uses.get(op.result, []))}
