"""The walk that the backend's passes share: replace ops by lists of ops, block by block, in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Block, Function, Op, Value


class Rewriter(Builder):
    """Builds the new contents of a block. A rule emits ops here, then either keeps the op or replaces its results."""

    def __init__(self, block: Block) -> None:
        super().__init__(block)
        self.renamed: dict[Value, Value] = {}

    def keep(self, op: Op) -> None:
        """Append an existing op as it is."""
        self.block.ops.append(op)

    def replace(self, old: Value, new: Value) -> None:
        """From here on every use of `old` becomes `new`."""
        new.hint = new.hint or old.hint
        self.renamed[old] = new


def rewrite(function: Function, rule: Callable[[Rewriter, Op], None]) -> None:
    """Call `rule(rewriter, op)` for every op in program order, its operands already renamed.

    The rule appends what shall stand in the op's place. Bodies of an op are rewritten before the op itself is seen.
    """
    rewriter = Rewriter(Block())

    def visit(block: Block) -> None:
        old, block.ops = block.ops, []
        outer, rewriter.block = rewriter.block, block
        for op in old:
            op.replace_operands(rewriter.renamed)
            for inner in op.blocks:
                visit(inner)
            rewriter.span = op.span
            rule(rewriter, op)
        rewriter.block = outer

    visit(function.body)


def all_reads(op: Op) -> list[Value]:
    """What an op and its bodies read."""
    return [*op.operands, *(v for block in op.blocks for inner in block.walk() for v in inner.operands)]


def replace_everywhere(op: Op, new: Mapping[Value, Value]) -> None:
    """Substitute operands of an op and of its bodies."""
    op.replace_operands(new)
    for block in op.blocks:
        for inner in block.walk():
            inner.replace_operands(new)
