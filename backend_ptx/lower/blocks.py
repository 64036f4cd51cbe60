"""The ops of a block, in order: runs of element-wise ops in strips, all others one by one."""

from __future__ import annotations

from tilewright.backend_ptx.lower.context import Context
from tilewright.backend_ptx.lower.registry import lowering_of
from tilewright.backend_ptx.lower.strips import lower_run, run_from
from tilewright.tileir.core import Block
from tilewright.tileir.diagnostics import TileError, TileInternalError, at


def lower_block(ctx: Context, block: Block) -> None:
    """Emit the ops of a block except its terminator."""
    done = 0
    for number, op in enumerate(block.ops):
        if op.terminator:
            return
        if number < done:
            continue
        ctx.locate(op.span)
        run = run_from(block.ops, number)
        done = number + max(1, len(run))
        with at(op.span):
            try:
                if run:
                    lower_run(ctx, run)
                else:
                    lowering_of(op)(ctx, op)
            except TileError:
                raise
            except Exception as error:
                raise TileInternalError(
                    f"the lowering of {op.opcode} failed: {type(error).__name__}: {error}"
                ) from error
