"""Insert a barrier before each access that must wait for another thread's earlier access, and nowhere else.

    before: shared_store(buffer=%0, value=%x)
            %y: tile<64x64xf32, #1> = shared_load(buffer=%0, shape=(64, 64))
    after:  shared_store(buffer=%0, value=%x)
            barrier()
            %y: tile<64x64xf32, #1> = shared_load(buffer=%0, shape=(64, 64))

An access in a loop that must wait for one before the loop waits once, above the loop. A warp barrier (`scope="warp"`)
suffices if no element leaves its warp. The walk keeps the pending accesses: those that no barrier separates from here.
Accesses pending at the end of a loop body are pending at its start, so bodies are walked to a fixed point. An engine's
access stays pending until a barrier that comes after its thread's wait.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache, partial

from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.ops.engines import barrier
from tilewright.backend_ptx.ops.shared import Barrier
from tilewright.backend_ptx.passes.barriers.hazards import CTA, NOTHING, WARP, Hazards, MemoryAccess
from tilewright.tileir.core import Block, Completion, Op
from tilewright.tileir.engines import THREADS, Fence, Scope, Timeline
from tilewright.tileir.ops.control import For, If, While

# The pending accesses, each with the strongest barrier since (NOTHING or WARP).
State = dict[MemoryAccess, Scope]


def insert_barriers(c: Compilation) -> None:
    """Needs the offsets of plan_shared_memory."""
    inserter = _Inserter(Hazards(c))
    inserter.block(c.function.body, {})
    inserter.write(c.function.body, WARP if c.plan.warps == 1 else CTA)


class _Inserter:
    """`before[op]` is the strongest barrier that some path to `op` asks for."""

    def __init__(self, hazards: Hazards) -> None:
        self.hazards = hazards
        self.before: dict[Op, Scope] = {}
        # Bodies of loops are walked again and again; what an op does stays the same.
        self.effects = cache(lambda op: op.effects())
        self.accesses = cache(hazards.accesses)

    def block(self, block: Block, state: State) -> State:
        """Walk a block; the accesses pending at its end."""
        for op in block.ops:
            state = self._op(op, state)
        return state

    def _op(self, op: Op, state: State) -> State:
        if isinstance(op, If):
            then, orelse = self.block(op.then, dict(state)), self.block(op.orelse, dict(state))
            return _join(then, orelse)
        if isinstance(op, For):
            return self._loop([op.loop], self._before_loop(op, state))
        if isinstance(op, While):
            return self._loop([op.before, op.after], self._before_loop(op, state))
        if not op.effectful:
            return state
        effects = self.effects(op)
        for completion in effects.completes:
            state = _changed(state, partial(_landed, completion))
        if effects.fence is not None:
            state = _fenced(state, effects.fence)
        return self._leaf(op, state)

    def _before_loop(self, op: Op, state: State) -> State:
        """An access of the loop that must wait for an earlier one waits once, above the loop."""
        acting = (inner for block in op.blocks for inner in block.walk() if inner.effectful)
        inside = dict.fromkeys(access for inner in acting for access in self.accesses(inner))
        self._ask(op, inside, {old: passed for old, passed in state.items() if not old.flying})
        return _passed(state, self.before.get(op, NOTHING))

    def _ask(self, op: Op, accesses: Iterable[MemoryAccess], state: State) -> None:
        """Record the barrier before `op` that its accesses need after those of a state."""
        asked = ((self.hazards.between(old, new), passed) for new in accesses for old, passed in state.items())
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

    def write(self, block: Block, strongest: Scope) -> None:
        """Write the barriers into the blocks. In a kernel of one warp a warp barrier is enough."""
        ops: list[Op] = []
        for op in block.ops:
            for inner in op.blocks:
                self.write(inner, strongest)
            needed = min(self.before.get(op, NOTHING), strongest)
            if needed != NOTHING:
                barrier = Barrier(scope="warp" if needed == WARP else "block")
                barrier.span = op.span
                ops.append(barrier)
            ops.append(op)
        block.ops = ops


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
