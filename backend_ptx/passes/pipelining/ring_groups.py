"""Groups of loads that share mbarriers, the rings that they use, and where their slots are free again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tilewright.backend_ptx import decisions
from tilewright.backend_ptx.ops.matmul import left_outstanding
from tilewright.backend_ptx.passes.pipelining.ring_candidates import Candidate, Scope, find_candidate
from tilewright.tileir.core import Block, Op, Value
from tilewright.tileir.ops import control
from tilewright.tileir.ops.memory import Load
from tilewright.tileir.plan import Decision
from tilewright.tileir.types import SharedType


@dataclass(slots=True, eq=False)
class Ring:
    """Buffers of `slots` slots, one for each load of a group, and their mbarriers."""

    types: tuple[SharedType, ...]
    latencies: list[int | None]
    loops: list[control.For] = field(default_factory=list)
    slots: int = 0
    buffers: list[Value] = field(default_factory=list)
    barriers: list[Value] = field(default_factory=list)

    ctas: int = 1  # blocks of a cluster that fill its slots together

    @property
    def full(self) -> Value:
        """The mbarriers on which copies complete."""
        return self.barriers[0]

    @property
    def empty(self) -> Value:
        """The mbarriers on which readers release slots."""
        return self.barriers[1]

    @property
    def bytes(self) -> int:
        """Of one slot of each buffer."""
        return sum(t.size * t.dtype.bytes for t in self.types)


@dataclass(slots=True, eq=False)
class Group:
    """Loads of a loop that share mbarriers. `release`: the op after which their slots are free, None where that is only
    known a round later."""

    loop: control.For
    release: Op | None
    loads: list[Candidate] = field(default_factory=list)
    ring: Ring = field(default_factory=lambda: Ring((), []))

    def buffer(self, candidate: Candidate) -> Value:
        return self.ring.buffers[self.loads.index(candidate)]


class State(NamedTuple):
    """Where a group is: the slot of the next round and its parity."""

    slot: Value
    parity: Value


def share_rings(groups: Sequence[Group], scope: Scope) -> list[Ring]:
    """Give each group a ring: that of an earlier loop with the same tiles, or a new one."""
    rings: list[Ring] = []
    for group in groups:
        types = tuple(c.type for c in group.loads)
        free = [r for r in rings if r.types == types and all(_apart(group.loop, loop, scope) for loop in r.loops)]
        if not free:
            free = [Ring(types, [])]
            rings += free
        group.ring = free[0]
        group.ring.loops.append(group.loop)
        group.ring.latencies += [c.load.latency for c in group.loads]
    return rings


def _apart(one: Op, other: Op, scope: Scope) -> bool:
    """Whether neither loop is, or contains, the other."""
    return one is not other and one not in scope.around(other) and other not in scope.around(one)


def find_groups(loop: control.For, scope: Scope) -> tuple[list[Group], list[Decision]]:
    groups: dict[Op | None, Group] = {}
    left = []
    for op in loop.loop.ops:
        if not isinstance(op, Load) or not op.shape:
            continue
        found = find_candidate(loop, op, scope)
        if isinstance(found, str):
            left.append(decisions.stays_a_load("rings", name_of(op), found, op.span))
            continue
        release = _release(loop, found, scope)
        groups.setdefault(release, Group(loop, release)).loads.append(found)
    return list(groups.values()), left


def name_of(load: Load) -> str:
    return load.result.hint or load.array.hint or "a load"


def _release(loop: control.For, candidate: Candidate, scope: Scope) -> Op | None:
    """The op of the loop's body after which nothing reads the slot; None if products still do when the round ends."""
    order = {op: i for i, op in enumerate(loop.loop.ops)}
    last = order[candidate.load]
    for user in scope.users.get(candidate.load.result, []):
        last = max(last, order[_at_level(user, loop.loop, scope)])
    for stage in candidate.stages:
        for product in scope.users[stage.result]:
            wait = next((op for op in loop.loop.ops[order[product]:] if left_outstanding(op) is not None), None)
            if wait is None:
                return None
            last = max(last, order[wait])
    return loop.loop.ops[last]


def _at_level(op: Op, block: Block, scope: Scope) -> Op:
    """The op of a block that is, or contains, another one."""
    while scope.block_of[op] is not block:
        op = scope.owner[scope.block_of[op]]
    return op
