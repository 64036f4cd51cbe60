"""Pending accesses: those that no barrier separates from here, and the barriers that later accesses ask for.

An access in a loop that must wait for one before the loop waits once, above the loop. Accesses pending at the end of a
loop body are pending at its start, so bodies are walked to a fixed point. An engine's access stays pending until a
barrier that comes after its thread's wait.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

from tilewright.tileir.core import Block, Completion, Op, Value
from tilewright.tileir.engines import THREADS, Engine, Fence, Scope, Space, Timeline, barrier
from tilewright.tileir.enums import MemoryOrder
from tilewright.tileir.ops.control import For, If, While

NOTHING, CTA = Scope.NOTHING, Scope.CTA


@dataclass(frozen=True, slots=True)
class MemoryAccess:
    """One access of one memory handle by an op."""

    op: Op
    memory: Value
    writes: bool
    space: Space
    order: MemoryOrder = MemoryOrder.WEAK
    engine: Engine = THREADS
    flying: bool = False  # outstanding: an engine performs it, and the thread that started it has not waited
    earlier: bool = False  # of an earlier iteration of a loop

    def __hash__(self) -> int:
        # An op accesses a buffer in one way, so that these tell accesses apart; enums would be hashed in Python.
        return hash((self.op, self.memory, self.flying, self.earlier))

    @property
    def timeline(self) -> Timeline:
        """The timeline that a fence must wait for to order it; after the thread's wait, an engine's access is the
        thread's."""
        return Timeline(self.engine if self.flying else THREADS, self.space)


# The pending accesses, each with the strongest barrier since (NOTHING or WARP).
State = dict[MemoryAccess, Scope]
Accesses = Callable[[Op], Sequence[MemoryAccess]]
Between = Callable[[MemoryAccess, MemoryAccess], Scope]


def needed_barriers(body: Block, accesses: Accesses, between: Between) -> dict[Op, Scope]:
    """The barrier that some path to an op asks for, the strongest of these; ops without one may be missing.

    `accesses` gives those of an op, its bodies not counted. `between`: the barrier that must separate two accesses in
    this order.
    """
    walk = _Walk(accesses, between)
    walk.block(body, {})
    return walk.before


class _Walk:
    """`before[op]` is the strongest barrier that some path to `op` asks for."""

    def __init__(self, accesses: Accesses, between: Between) -> None:
        self.between = between
        self.before: dict[Op, Scope] = {}
        # Bodies of loops are walked again and again; what an op does stays the same.
        self.effects = cache(lambda op: op.effects())
        self.accesses = cache(accesses)

    def block(self, block: Block, state: State) -> State:
        """Walk a block; the accesses pending at its end."""
        for op in block.ops:
            state = self._op(op, state)
        return state

    def _op(self, op: Op, state: State) -> State:
        if not (op.effectful or op._body_fields):
            return state
        if isinstance(op, If):
            then, orelse = self.block(op.then, dict(state)), self.block(op.orelse, dict(state))
            return _join(then, orelse)
        if isinstance(op, For):
            return self._loop([op.loop], self._before_loop(op, state))
        if isinstance(op, While):
            return self._loop([op.before, op.after], self._before_loop(op, state))
        effects = self.effects(op)
        for completion in effects.completes:
            state = _changed(state, partial(_landed, completion))
        if effects.fence is not None:
            state = _fenced(state, effects.fence)
        return self._leaf(op, state)

    def _before_loop(self, op: Op, state: State) -> State:
        """An access of the loop that must wait for an earlier one waits once, above the loop."""
        acting = (inner for inner in op.inside() if inner.effectful)
        inside = dict.fromkeys(access for inner in acting for access in self.accesses(inner))
        self._ask(op, inside, {old: passed for old, passed in state.items() if not old.flying})
        return _passed(state, self.before.get(op, NOTHING))

    def _ask(self, op: Op, accesses: Iterable[MemoryAccess], state: State) -> None:
        """Record the barrier before `op` that its accesses need after those of a state."""
        asked = ((self.between(old, new), passed) for new in accesses for old, passed in state.items())
        needed = max((scope for scope, passed in asked if scope > passed), default=NOTHING)
        self.before[op] = max(needed, self.before.get(op, NOTHING))

    def _loop(self, blocks: list[Block], state: State) -> State:
        """The accesses pending after zero or more iterations. Only the walk from the fixed point decides: a barrier
        that an earlier walk asked for may be covered by another one."""
        while True:
            for block in blocks:
                for op in block.walk():
                    self.before.pop(op, None)
            end = dict(state)
            leaving = end
            for number, block in enumerate(blocks):
                end = self.block(block, dict(end))
                leaving = end if number == 0 else leaving
            after = _join(state, _changed(end, _next_iteration))
            if after == state:
                return _join(state, leaving)
            state = after

    def _leaf(self, op: Op, state: State) -> State:
        own = self.accesses(op)
        if not own:
            return state
        self._ask(op, own, state)
        state = _passed(state, self.before.get(op, NOTHING))
        return {**state, **dict.fromkeys(own, NOTHING)}


def _passed(state: State, scope: Scope) -> State:
    """The state after a barrier of a scope."""
    return state if scope is NOTHING else _fenced(state, barrier(scope))


def _fenced(state: State, fence: Fence) -> State:
    """The state after a fence. Accesses that it does not wait for, or does not make visible to threads, stay as they
    are."""
    out: State = {}
    for access, passed in state.items():
        if access.timeline not in fence.waits or Timeline(THREADS, access.space) not in fence.visible:
            out[access] = passed
        elif fence.scope < CTA:
            out[access] = max(passed, fence.scope)
    return out


def _landed(completion: Completion, access: MemoryAccess) -> MemoryAccess:
    """An access after a wait: the thread's own if the wait covers it."""
    engine, pending, memory = completion
    if not access.flying or access.engine is not engine or memory not in (None, access.memory):
        return access
    return access if pending and not engine.counted else replace(access, flying=False)


def _next_iteration(access: MemoryAccess) -> MemoryAccess:
    return replace(access, earlier=True) if getattr(access.memory.type, "copies", 1) > 1 else access


def _changed(state: State, change: Callable[[MemoryAccess], MemoryAccess]) -> State:
    """The state with `change` applied to its accesses."""
    out: State = {}
    for access, passed in state.items():
        new = change(access)
        out[new] = min(passed, out.get(new, passed))
    return out


def _join(one: State, other: State) -> State:
    """The accesses pending on either of two paths; for an access on both, the weaker barrier counts."""
    return {**one, **{access: min(passed, one.get(access, passed)) for access, passed in other.items()}}
