"""Common subexpressions: an op that computes what a dominating op has computed is replaced by that.

Before:

    %a: i32 = mul(lhs=%i, rhs=%n)
    %b: i32 = mul(lhs=%i, rhs=%n)
    %x: tile<16xf32> = load(array=%p, index=(%a), shape=(16), steps=(16), order=(0))
    %y: tile<16xf32> = load(array=%p, index=(%b), shape=(16), steps=(16), order=(0))
    store(array=%q, index=(%i), value=%y, steps=(16), order=(0))

After:

    %a: i32 = mul(lhs=%i, rhs=%n)
    %x: tile<16xf32> = load(array=%p, index=(%a), shape=(16), steps=(16), order=(0))
    store(array=%q, index=(%i), value=%x, steps=(16), order=(0))

A load is shared only while nothing between the two may write what it reads (`analysis/effects.py`).
"""

from __future__ import annotations

from typing import Any

from tilewright.tileir.analysis.effects import Dependences, Summary, conflict
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.analysis.waiting import awaited
from tilewright.tileir.core import Block, Op, Value
from tilewright.tileir.ops.control import If

Key = tuple[Any, ...]


def cse(unit: Unit) -> None:
    _Cse(unit.dependences).block(unit.function.body)


class _Cse:
    def __init__(self, dependences: Dependences) -> None:
        self.dependences = dependences
        self.new: dict[Value, Value] = {}
        self.pure: dict[Key, Op] = {}  # of the blocks around the current place
        self.loads: dict[Key, Op] = {}  # those whose memory is unchanged since
        self.awaited: set[Op] = set()  # what loops around the current place wait for

    def block(self, block: Block) -> None:
        added: list[Key] = []
        block.ops = [op for op in block.ops if not self.is_replaced(op, added)]
        for key in added:  # what follows the block is not dominated by it
            del self.pure[key]

    def is_replaced(self, op: Op, added: list[Key]) -> bool:
        if self.new:
            op.replace_operands(self.new)
        if op._body_fields:
            self.structured(op)
            return False
        if op.terminator:
            return False
        summary = self.dependences.summary(op)
        if summary.none:
            return self.share(op, self.pure, added)
        if op in self.awaited:
            return False
        if summary.only_reads:
            return self.share(op, self.loads, [])
        self.forget_loads(summary)
        return False

    def share(self, op: Op, known: dict[Key, Op], added: list[Key]) -> bool:
        key = _key(op)
        first = known.get(key)
        if first is None:
            known[key] = op
            added.append(key)
            return False
        if any(a.type != b.type for a, b in zip(first.results, op.results, strict=True)):
            return False  # equal but for a layout
        for old, kept in zip(op.results, first.results, strict=True):
            self.new[old] = kept
            if not kept.hint:
                kept.hint = old.hint
        return True

    def structured(self, op: Op) -> None:
        summary = self.dependences.summary(op)
        self.awaited |= awaited(op)
        if not isinstance(op, If):
            self.forget_loads(summary)  # an earlier iteration may have written
        for block in op.blocks:
            outside = dict(self.loads)
            self.block(block)
            self.loads = outside
        self.forget_loads(summary)

    def forget_loads(self, summary: Summary) -> None:
        if summary.only_reads:
            return
        changed = [key for key, load in self.loads.items() if conflict(summary, self.dependences.summary(load))]
        for key in changed:
            del self.loads[key]


def _key(op: Op) -> Key:
    """Equal for ops that compute the same from the same operands."""
    parts: list[Any] = [type(op)]
    for name in op.fields:
        value = getattr(op, name)
        # Floats by their digits: 0.0 and -0.0 differ, and a NaN equals itself.
        parts.append(value.hex() if type(value) is float else value)
    if op.commutative and id(parts[1]) > id(parts[2]):
        parts[1], parts[2] = parts[2], parts[1]
    return tuple(parts)
