"""Whether an output's bits depend on the order in which blocks run, or on how many blocks there are.

An array's contents are independent of the order of blocks if all its writes are: no two blocks meet in one element,
unless both write a function of the element; atomic operations commute; and what is written, where and whether follows
from the arguments and from arrays of which the same holds. They are independent of the grid if, besides, numbers of
blocks enter only as steps of loops that share out the work (`own_items`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any

from tilewright.interp.certifying.certificate import Judgement
from tilewright.interp.certifying.meetings import Meetings
from tilewright.interp.certifying.slices import Code, limits, own_items
from tilewright.interp.proving.accesses import MemoryUse
from tilewright.interp.proving.world import AXES
from tilewright.tileir.analysis.determinism import what_order_changes, what_order_gives
from tilewright.tileir.analysis.linear import Terms
from tilewright.tileir.core import Op, Value
from tilewright.tileir.diagnostics import Span
from tilewright.tileir.enums import MemoryOrder
from tilewright.tileir.ops import arrays
from tilewright.tileir.ops.atomics import Atomic, AtomicRmw
from tilewright.tileir.ops.control import For
from tilewright.tileir.ops.memory import Gather, Load, Scatter

HOLDS = Judgement(True)
ENDING = "depends on the order in which blocks run"


class Orders:
    """The judgements of all arrays of one function."""

    def __init__(self, code: Code, races: Meetings) -> None:
        self.code = code
        self.races = races
        self._order: dict[Value, Judgement] = {}
        self._grid: dict[Value, Judgement] = {}

    def block_order(self, memory: Value) -> Judgement:
        """Of the contents of an array. Arrays that are computed from each other are judged together: what is asked for
        again on the way holds unless something else is in the way."""
        return self._judged(self._order, memory, self._block_order)

    def grid(self, memory: Value) -> Judgement:
        return self._judged(self._grid, memory, self._of_grid)

    def _judged(
        self, known: dict[Value, Judgement], memory: Value, judge: Callable[[Value], Iterable[Judgement]]
    ) -> Judgement:
        if memory in known:
            return known[memory]
        known[memory] = HOLDS
        found = _all(judge(memory))
        if not found.holds:  # others may have taken it for granted on the way
            known.clear()
        known[memory] = found
        return found

    # -- the order of blocks

    def _block_order(self, memory: Value) -> Iterable[Judgement]:
        uses = self.code.of(memory)
        writes = [use for use in uses if use.writes]
        yield from (self._of_atomic(use.op) for use in writes)
        yield _one_kind([use.op for use in writes if isinstance(use.op, AtomicRmw)])
        for use in writes:
            if isinstance(use.op, Scatter):
                yield self.races.once(use)
        for use in writes:
            yield from self._of_values([*use.op.operands, *self.code.decides(use.op)], self.block_order)
        yield from self._of_pairs(uses)

    def _of_atomic(self, op: Op) -> Judgement:
        reason = what_order_changes(op)
        return HOLDS if reason is None else Judgement(False, f"{reason} {ENDING}", op.span)

    def _of_values(self, values: Iterable[Value], judge: Callable[[Value], Judgement]) -> Iterable[Judgement]:
        """What values are computed from: results of atomic operations, ordered loads, arrays that are written."""
        for op in self.code.ops_behind(values):
            if isinstance(op, Atomic):
                reason = what_order_gives(op, self.code.read)
                yield HOLDS if reason is None else Judgement(False, f"{reason} {ENDING}", op.span)
            elif isinstance(op, Load) and op.memory_order is not MemoryOrder.WEAK:
                yield Judgement(False, f"what an ordered load sees {ENDING}", op.span)
            elif isinstance(op, Load | Gather) and self.code.memory(op.array) in self.code.written:
                found = judge(self.code.memory(op.array))
                yield found if found.holds else Judgement(
                    False, f"it is computed from {_name(self.code, op.array)}: {found.reason}", found.place)

    def _of_pairs(self, uses: list[MemoryUse]) -> Iterable[Judgement]:
        """No two blocks meet; two may that write the same bits, by one op."""
        for one, other in itertools.combinations_with_replacement(uses, 2):
            if not (one.writes or other.writes) or (isinstance(one.op, Atomic) and isinstance(other.op, Atomic)):
                continue
            if one.atomic and other.atomic and not (one.writes and other.writes):
                continue  # an ordered load: what it sees is judged where it is used
            if one is other and self.code.of_element(one.op):
                continue
            yield self.races.apart(one, other)

    # -- the grid

    def _of_grid(self, memory: Value) -> Iterable[Judgement]:
        yield self.block_order(memory)
        writes = [use.op for use in self.code.of(memory) if use.writes]
        for op in writes:
            yield self._added(op) if isinstance(op, Atomic) else self._stored(op)
            yield self._covered(op)
            yield from self._of_values([*op.operands, *self.code.decides(op)], self.grid)
        yield self._in_one_loop(writes)

    def _added(self, op: Op) -> Judgement:
        """Of an atomic update: all blocks together update by the same values whatever the grid."""
        axes = frozenset().union(*(own_items(around) for around, _ in self.code.around(op) if self._is_shared(around)))
        if not axes or len(axes.union(self.races.unasked)) < AXES:
            return Judgement(False, "each block updates it: how many do enters the result", op.span)
        entering = self._number_behind([*op.operands, *self._decides(op)], op)
        return entering or Judgement(True, assuming=self.races.one_block)

    def _stored(self, op: Any) -> Judgement:
        """Of a store: an element is given the same value whichever block has it, in each grid."""
        if self.code.of_element(op):
            return HOLDS
        if self._shared_out(op):
            return self._number_behind([op.value], op) or HOLDS
        behind = self.code.ops_behind([op.value])
        counts = [o for o in behind if isinstance(o, arrays.NumBlocks)]
        return Judgement(False, f"{_called(counts[0])} enters the value", _used(counts[0], behind)) if counts else HOLDS

    def _number_behind(self, values: list[Value], op: Op) -> Judgement | None:
        """A block number, or number of blocks, that enters values but for the share of the work that a block has."""
        behind = self.code.ops_behind(values, self._shared_out(op))
        for found in behind:
            if isinstance(found, arrays.BlockId | arrays.NumBlocks):
                return Judgement(False, f"{_called(found)} enters the value", _used(found, behind))
        return None

    def _covered(self, op: Op) -> Judgement:
        """Which elements are written must not depend on the grid, but for what more blocks write."""
        told, decides = self._shared_out(op), self._decides(op)
        everywhere = self.code.ops_behind([*self.code.where(op), *decides], told)
        deciding = self.code.ops_behind(decides, told) if told else []
        for behind, kind in ((everywhere, arrays.NumBlocks), (deciding, arrays.BlockId)):
            for found in behind:
                if isinstance(found, kind):
                    reason = f"{_called(found)} decides which elements are written"
                    return Judgement(False, reason, _used(found, behind))
        return HOLDS

    def _decides(self, op: Op) -> list[Value]:
        """What decides whether an op is executed; of loops that share out the work, where they end."""
        out: list[Value] = []
        for around, _ in self.code.around(op):
            out += [around.upper] if isinstance(around, For) and self._is_shared(around) else limits(around)
        mask = getattr(op, "mask", None)
        return [*out, mask] if mask is not None else out

    def _in_one_loop(self, writes: list[Op]) -> Judgement:
        """Several stores to one array beside a loop that shares out the work must all be in it, at its numbers: else
        the grid decides which one is the last."""
        if len(writes) < 2 or all(isinstance(op, Atomic) for op in writes):
            return HOLDS
        loops = {op: tuple(a for a, _ in self.code.around(op) if self._is_shared(a)) for op in writes}
        if not any(loops.values()):
            return HOLDS
        for op in writes:
            raw = [o for o in self.code.ops_behind(self.code.where(op), self._shared_out(op))
                   if isinstance(o, arrays.BlockId)]
            if raw or loops[op] != loops[writes[0]]:
                return Judgement(False, "the grid decides which of several stores is the last", op.span)
        return HOLDS

    def _is_shared(self, loop: Op) -> bool:
        return bool(own_items(loop)) and not any(
            isinstance(o, arrays.BlockId | arrays.NumBlocks) for o in self.code.ops_behind([loop.upper]))  # type: ignore[attr-defined]

    def _shared_out(self, op: Op) -> frozenset[Terms]:
        """The variables of loops around an op that share out the work."""
        return frozenset(frozenset({(around.loop.params[0], 1)}) for around, _ in self.code.around(op)
                         if isinstance(around, For) and self._is_shared(around))


def _all(judgements: Iterable[Judgement]) -> Judgement:
    """The first that does not hold; else one that assumes what all assume."""
    assuming: dict[str, None] = {}
    for one in judgements:
        if not one.holds:
            return one
        assuming.update(dict.fromkeys(one.assuming))
    return Judgement(True, assuming=tuple(assuming))


def _one_kind(updates: list[AtomicRmw]) -> Judgement:
    kinds = dict.fromkeys(op.kind for op in updates)
    if len(kinds) < 2:
        return HOLDS
    first, second = list(kinds)[:2]
    op = next(op for op in updates if op.kind == second)
    return Judgement(False, f"atomic_{first} and atomic_{second} do not commute", op.span)


def _called(op: Op) -> str:
    return f"num_blocks({op.axis})" if isinstance(op, arrays.NumBlocks) else f"bid({op.axis})"  # type: ignore[attr-defined]


def _used(op: Op, behind: list[Op]) -> Span:
    """Where a number is used: its own op stands at the first of equal ones."""
    return next((user.span for user in behind if op.result in user.operands), op.span)


def _name(code: Code, array: Value) -> str:
    return code.memory(array).hint or array.hint or "an array"
