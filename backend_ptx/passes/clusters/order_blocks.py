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
from enum import Enum
from typing import Any

from tilewright.backend_ptx import decisions
from tilewright.backend_ptx.compilation import Compilation
from tilewright.tileir.analysis.facts import Facts
from tilewright.tileir.analysis.unit import ALL, NONE, Preserved
from tilewright.tileir.core import Block, Value
from tilewright.tileir.ops import arith, arrays, convert
from tilewright.tileir.ops.atomics import Atomic
from tilewright.tileir.ops.control import For, While
from tilewright.tileir.rewrite import Rewriter, rewrite
from tilewright.tileir.rules import RuleTable


class Trend(Enum):
    """How a number changes with the block's coordinate along an axis."""

    SAME = 0
    GROWS = 1
    SHRINKS = -1
    UNKNOWN = None

    def opposite(self) -> Trend:
        return {Trend.GROWS: Trend.SHRINKS, Trend.SHRINKS: Trend.GROWS}.get(self, self)

    def beside(self, other: Trend) -> Trend:
        """Of a sum, or of the least or the greatest of two."""
        if Trend.SAME in (self, other):
            return other if self is Trend.SAME else self
        return self if self is other else Trend.UNKNOWN


def order_blocks(c: Compilation) -> Preserved:
    """Before loops are split, which hides how many iterations they have together; before clusters are formed, whose
    CTAs divide a block."""
    loops = _outermost(c.function.body)
    if not loops or any(isinstance(op, Atomic | While) for op in c.function.walk()):
        return ALL
    axes = {op.axis for op in c.function.walk() if isinstance(op, arrays.BlockId)}
    turned = {axis for axis in axes if _grows(loops, Trends(axis, c.facts))}
    if not turned:
        return ALL

    def rule(b: Rewriter, op: arrays.BlockId) -> None:
        b.keep(op)
        if op.axis in turned:
            count, one = b.value(arrays.NumBlocks(axis=op.axis)), b.number(1, op.result.type.dtype)
            last = b.value(arith.Sub(lhs=count, rhs=one))
            b.replace(op.result, b.value(arith.Sub(lhs=last, rhs=op.result)))

    rewrite(c.function, {arrays.BlockId: rule})
    for axis in sorted(turned):
        c.decide(decisions.longest_first(axis))
    return NONE


def _outermost(block: Block) -> list[For]:
    """The counted loops that are in no other loop."""
    out: list[For] = []
    for op in block.ops:
        if isinstance(op, For):
            out.append(op)
        else:
            out += [loop for inner in op.blocks for loop in _outermost(inner)]
    return out


def _grows(loops: list[For], trends: Trends) -> bool:
    """Whether some loop has more iterations in later blocks, and none has fewer."""
    found = {trends.of(loop.upper).beside(trends.of(loop.lower).opposite()) for loop in loops
             if trends.known[loop.step].low > 0}
    return Trend.GROWS in found and Trend.SHRINKS not in found


class Trends:
    """The trends of integers along one axis of the grid."""

    def __init__(self, axis: int, known: Facts) -> None:
        self.axis = axis
        self.known = known
        self.found: dict[Value, Trend] = {}

    def of(self, value: Value) -> Trend:
        if value not in self.found:
            self.found[value] = self._of(value)
        return self.found[value]

    def _of(self, value: Value) -> Trend:
        op: Any = value.op
        if op is None:  # a parameter of the kernel, or of a block
            return Trend.SAME
        rule = _RULES.of(op)
        if rule is not None:
            return rule(op, self)
        return Trend.SAME if all(self.of(v) is Trend.SAME for v in op.operands) and not op.blocks else Trend.UNKNOWN


_RULES: RuleTable[Callable[[Any, Trends], Trend]] = RuleTable("trend along the grid")


@_RULES.register(arrays.BlockId)
def _block_id(op: arrays.BlockId, trends: Trends) -> Trend:
    return Trend.GROWS if op.axis == trends.axis else Trend.SAME


@_RULES.register(arith.Add, arith.Min, arith.Max)
def _together(op: Any, trends: Trends) -> Trend:
    return trends.of(op.lhs).beside(trends.of(op.rhs))


@_RULES.register(arith.Sub)
def _sub(op: arith.Sub, trends: Trends) -> Trend:
    return trends.of(op.lhs).beside(trends.of(op.rhs).opposite())


@_RULES.register(arith.Mul)
def _mul(op: arith.Mul, trends: Trends) -> Trend:
    for one, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        if trends.of(other) is Trend.SAME and trends.known[other].low >= 0:
            return trends.of(one)
    return Trend.SAME if trends.of(op.lhs) is trends.of(op.rhs) is Trend.SAME else Trend.UNKNOWN


@_RULES.register(arith.FloorDiv, arith.CeilDiv)
def _quotient(op: Any, trends: Trends) -> Trend:
    if trends.of(op.rhs) is Trend.SAME and trends.known[op.rhs].low > 0:
        return trends.of(op.lhs)
    return Trend.SAME if trends.of(op.lhs) is trends.of(op.rhs) is Trend.SAME else Trend.UNKNOWN


@_RULES.register(convert.Cast, arrays.AssumeDivisible)
def _same(op: Any, trends: Trends) -> Trend:
    return trends.of(op.src)
