"""Number the blocks of a triangular kernel from its far end, so that the longest blocks run first.

    before: %i: i32 = block_id(axis=0)
            %n: i32 = add(lhs=%i, rhs=%one)
            for(lower=%zero, upper=%n, step=%one) ...        // the last block has the most iterations
    after:  %b: i32 = block_id(axis=0)
            %g: i32 = num_blocks(axis=0)
            %l: i32 = sub(lhs=%g, rhs=%one)
            %i: i32 = sub(lhs=%l, rhs=%b)
            %n: i32 = add(lhs=%i, rhs=%one)
            for(lower=%zero, upper=%n, step=%one) ...        // the first block has

A GPU starts blocks in the order of their numbers. Where the last ones are the longest, most SMs stand idle at the end
of the launch, while a few finish them (causal attention by 128 x 128 tiles on an H200: 549 TFLOP/s in the order of
numbers, 569 in the other; 572 and 601 with 16384 tokens; 371 and 370 with d = 64).

A kernel may not depend on the order of its blocks unless one waits for another, which takes atomics: kernels with
atomics, and with loops that are not counted, stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable

from tilewright.tileir.analysis.trends import Trend, slope
from tilewright.tileir.analysis.unit import ALL, NONE, Preserved, Unit
from tilewright.tileir.ops import arith, arrays
from tilewright.tileir.ops.atomics import Atomic
from tilewright.tileir.ops.control import For, While
from tilewright.tileir.rewrite import Rewriter, rewrite


def turn_grid(unit: Unit, tell: Callable[[int], None]) -> Preserved:
    """`tell` is called with each axis along which blocks are numbered from the far end."""
    if not unit.has(For) or any(isinstance(op, Atomic | While) for op in unit.function.walk()):
        return ALL
    axes = {op.axis for op in unit.function.walk() if isinstance(op, arrays.BlockId)}
    turned = {axis for axis in axes if slope(unit, axis) is Trend.GROWS}
    if not turned:
        return ALL

    def rule(b: Rewriter, op: arrays.BlockId) -> None:
        b.keep(op)
        if op.axis in turned:
            count, one = b.value(arrays.NumBlocks(axis=op.axis)), b.number(1, op.result.type.dtype)
            last = b.value(arith.Sub(lhs=count, rhs=one))
            b.replace(op.result, b.value(arith.Sub(lhs=last, rhs=op.result)))

    rewrite(unit.function, {arrays.BlockId: rule})
    for axis in sorted(turned):
        tell(axis)
    return NONE
