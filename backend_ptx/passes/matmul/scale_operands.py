"""Block-scaled MMAs: the target's own instruction where it has one, else operands that are multiplied by their scales.

    before: %y = mma_scaled(a=%a, a_scale=%s, b=%b, b_scale=%t, acc=%x)            // e4m3 with e8m0, one per 32 along K
    after:  %y = mma_scaled_sync(a=%a, b=%b, acc=%x, a_scale=%s, b_scale=%t, instruction="mma.block_scale.e4m3.e8m0.32")
    or:     %0 = cast(src=%a, dtype=bf16)
            %1 = cast(src=%s, dtype=bf16)                                          // spread over 32 elements each: %4
            %5 = mul(lhs=%0, rhs=%4)                                               // and so for b: %11
            %y = mma(a=%5, b=%11, acc=%x)

To scale the sum of each run along K instead would cost threads two multiply-adds for each accumulator and run: on
sm_90a, MN/64 cycles for M x N accumulators, as long as the MMA itself takes.
"""

from __future__ import annotations

from tilewright.backend_ptx import decisions
from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.instructions.table import instructions
from tilewright.backend_ptx.ops.matmul import MmaScaledSync
from tilewright.tileir.analysis.unit import Preserved
from tilewright.tileir.ops.matmul import MmaScaled
from tilewright.tileir.rewrite import Rewriter, rewrite_kinds


def scale_operands(c: Compilation) -> Preserved:
    """Afterwards there is no `mma_scaled`."""
    return rewrite_kinds(c, {MmaScaled: lambda rewriter, op: _rule(rewriter, op, c)})


def _rule(rewriter: Rewriter, op: MmaScaled, c: Compilation) -> None:
    name = f"mma.block_scale.{op.a.type.dtype.ir}.{op.a_scale.type.dtype.ir}.{op.block}"
    record = instructions().get(name)
    shape = record.facts["shape"] if record is not None and record.sm == c.target.sm else None
    (m, k), n = op.a.type.shape[-2:], op.b.type.shape[-1]
    if shape is not None and all(map(int.__ge__, (m, n, k), shape)):
        made = rewriter.value(MmaScaledSync(
            a=op.a, b=op.b, acc=op.acc, a_scale=op.a_scale, b_scale=op.b_scale, instruction=name))
        c.decide(decisions.scaled_by_instruction(name, op.span))
    else:
        made = op.of_scaled_operands(rewriter)
        why = decisions.no_block_scaled_mma(c.target.name, name, shape)
        c.decide(decisions.scaled_operands(op.scales_exactly, why, op.span))
    rewriter.replace(op.result, made)
