"""While loops that wait for memory: without effects of their own, they end when somebody else has written."""

from __future__ import annotations

from typing import Any

from tilewright.tileir.core import Block, Op, Value
from tilewright.tileir.ops.control import While


def awaited(loop: Op) -> frozenset[Op]:
    """The ops of a while loop without effects that read memory and decide when it ends; none of any other loop.

    They stay where they are, and the loop with them, although the results of all of it may be unused: another block, or
    whoever else has the array, may write what they read.
    """
    if not isinstance(loop, While):
        return frozenset()
    if any(op.acts for op in _within(loop.before, loop.after)):
        return frozenset()
    return frozenset(op for op in _deciding(loop) if op.effectful and op.effects().reads)


def _within(*blocks: Block) -> list[Op]:
    return [op for block in blocks for top in block.ops for op in (top, *_within(*top.blocks))]


def _deciding(loop: While) -> set[Op]:
    """The ops of a loop that its condition is computed from, in this iteration or in earlier ones."""
    condition: Any = loop.before.terminator
    again: Any = loop.after.terminator
    inside = set(_within(loop.before, loop.after))
    found: set[Op] = set()
    seen: set[Value] = set()
    work: list[Value] = [condition.cond]
    while work:
        value = work.pop()
        if value in seen:
            continue
        seen.add(value)
        owner = value.owner
        if owner is loop.before:
            work.append(again.values[loop.before.params.index(value)])
        elif owner is loop.after:
            work.append(condition.values[loop.after.params.index(value)])
        elif isinstance(owner, Op) and owner in inside and owner not in found:
            for op in (owner, *_within(*owner.blocks)):
                found.add(op)
                work += op.operands
    return found
