"""From machine IR to the protocol of a kernel: what each role does to mbarriers and slots, for given trip counts.

Each role's function is what `roles.project` gives, as emission does. It is followed op by op; scalar integers are
evaluated as constant folding does, so slots, parities and activity are the compiler's own arithmetic. Extents, block
numbers and loaded values are unknown. A loop whose upper bound is unknown runs as often as `trips` says: the bound is
the number that makes it so wherever it is used. Condition of branches and `while` loops that stay unknown are chosen
too. A slot, parity or activity that stays unknown is an error.
"""

from __future__ import annotations

from dataclasses import replace

from tilewright.backend_ptx import ops
from tilewright.backend_ptx.simulator.protocols.follower import Follower
from tilewright.backend_ptx.simulator.protocols.marks import Choices, marked
from tilewright.backend_ptx.simulator.protocols.program import Act, Action, Process, Protocol
from tilewright.backend_ptx.simulator.protocols.rules import RULES
from tilewright.backend_ptx.simulator.protocols.tables import targets_of
from tilewright.tileir.core import Function
from tilewright.tileir.engines import MAIN
from tilewright.tileir.passes.project import initial_ops, project

WARPGROUP = 4


def protocol_of(function: Function, choices: Choices, *, split: bool = False) -> Protocol:
    """The protocol of a function on which the backend's passes have run, for some trip counts.

    A warpgroup of consumers is one process, or with `split` two: one warp, and the others.
    """
    marks = marked(function)
    whole = Follower(marks, choices, "all")
    for op in initial_ops(marks.function):
        for needed in (*(v.op for v in op.operands), op):
            rule = RULES.of(needed) if needed else None
            assert needed and rule, f"{op.opcode} before the roles part"
            rule(whole, needed)
    roles = function.plan.roles or ()
    programs: list[Follower] = []
    for role in [r.name for r in roles] or [MAIN]:
        part = project(marks.function, role) if roles else marks.function
        teams = function.plan.teams if role == MAIN else 1
        followers = [Follower(marks, choices, role, team, teams) for team in range(teams)]
        for at in followers:
            at.run(part.body)
            whole.extents.update(at.extents)
        if teams > 1:
            every = Follower(marks, choices, role)
            every.run(part.body)
            followers = [_with_phases(at, every) for at in followers]
        programs += followers
    processes = [process for cta in range(function.plan.cluster) for at in programs
                 for process in _processes(cta, at, function, split)]
    counts, extents = tuple(whole.counts.items()), tuple(whole.extents.items())
    return Protocol(tuple(processes), counts, extents, MAIN, function.plan.teams)


def _with_phases(at: Follower, every: Follower) -> Follower:
    """Each wait of a team with the phase that it means: that of the same wait of threads that run all blocks."""
    phases = targets_of(every.actions)
    numbers = {(block, k): phases[i] for block, places in _waits_by_block(every).items() for k, i in enumerate(places)}
    for block, places in _waits_by_block(at).items():
        for k, i in enumerate(places):
            at.actions[i] = replace(at.actions[i], phase=numbers[block, k])
    return at


def _waits_by_block(at: Follower) -> dict[int | None, list[int]]:
    found: dict[int | None, list[int]] = {}
    for i, (action, block) in enumerate(zip(at.actions, at.blocks, strict=True)):
        if action.kind is Act.WAIT:
            found.setdefault(block, []).append(i)
    return found


def _processes(cta: int, at: Follower, function: Function, split: bool) -> list[Process]:
    name, role, actions = at.role, at.role, at.actions
    if role != MAIN:
        return [Process(name, cta, role, 0, 1, tuple(actions))]
    warps = function.plan.warps
    groups = max(1, warps // WARPGROUP)
    turns = at.teams if at.teams > 1 else groups
    out = []
    for group in range(groups):
        turn = at.team if at.teams > 1 else group
        mine = [Action(Act.PASS, a=(turn + 1) % turns, line=a.line) if a.kind is Act.PASS else a for a in actions]
        if turn == turns - 1 and any(isinstance(op, ops.warpgroup.TakeTurn) for op in function.walk()):
            mine.insert(0, Action(Act.PASS, a=0))
        if group:  # one lane of the first warp stores whole buffers
            mine = [a for a in mine if not (a.kind is Act.STORE and a.a == 1)]
        size = warps // groups
        for part, count in enumerate((1, size - 1) if split and size > 1 else (size,)):
            label = " ".join([name] + [f"{at.team}"] * (at.teams > 1) + [f"{group}"] * (groups > 1))
            own = [a for a in mine if not (part and a.kind is Act.STORE and a.a == 1)]
            label = f"{label} ({'one warp' if part == 0 else 'other warps'})" if split and size > 1 else label
            out.append(Process(label, cta, role, group, count, tuple(own), at.team))
    return out
