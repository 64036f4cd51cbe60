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

from tilewright.tileir.analysis.effects import Dependences, Summary
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
        self.loads = _Loads()
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
            return self.share_load(op, summary)
        self.loads.forget(summary)
        return False

    def share(self, op: Op, known: dict[Key, Op], added: list[Key]) -> bool:
        key = _key(op)
        first = known.get(key)
        if first is None:
            known[key] = op
            added.append(key)
            return False
        return self.use(first, op)

    def share_load(self, op: Op, summary: Summary) -> bool:
        key = _key(op)
        first = self.loads.find(key)
        if first is None:
            self.loads.add(key, op, summary)
            return False
        return self.use(first, op)

    def use(self, first: Op, op: Op) -> bool:
        """Take the results of an equal op, if their types are equal too."""
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
            self.loads.forget(summary)  # an earlier iteration may have written
        for block in op.blocks:
            outside = self.loads.mark()
            self.block(block)
            self.loads.go_back(outside)
        self.loads.forget(summary)


class _Loads:
    """The loads around the current place whose memory is unchanged since.

    A write only notes its time, by alias class, and a load is compared with that when it is asked for: what a write
    invalidates is not searched for, and the time is linear in the length of the kernel. `log` undoes what a block did.
    """

    def __init__(self) -> None:
        self.known: dict[Key, tuple[Op, frozenset[Value], int]] = {}
        self.written: dict[Value | None, int] = {}  # when each class was written last; None: an ordered access
        self.log: list[tuple[dict[Any, Any], Any, Any]] = []

    def find(self, key: Key) -> Op | None:
        found = self.known.get(key)
        if found is None:
            return None
        op, reads, since = found
        changed = max(self.written.get(memory, -1) for memory in (None, *reads))
        return op if changed < since else None

    def add(self, key: Key, op: Op, summary: Summary) -> None:
        self._note(self.known, key, (op, summary.reads, len(self.log)))

    def forget(self, summary: Summary) -> None:
        """Another thing happens that may write: the loads of what it writes are forgotten."""
        for memory in (*summary.writes, *((None,) if summary.ordered else ())):
            self._note(self.written, memory, len(self.log))

    def _note(self, table: dict[Any, Any], key: Any, value: Any) -> None:
        self.log.append((table, key, table.get(key)))
        table[key] = value

    def mark(self) -> int:
        return len(self.log)

    def go_back(self, mark: int) -> None:
        """All is again as at the mark."""
        while len(self.log) > mark:
            table, key, old = self.log.pop()
            if old is None:
                del table[key]
            else:
                table[key] = old


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
