"""From machine IR to the protocol of a kernel: what each role does to mbarriers and slots, for given trip counts.

Each role's function is what `roles.project` gives, as emission does. It is followed op by op; scalar integers are
evaluated as constant folding does, so slots, parities and activity are the compiler's own arithmetic. Extents, block
numbers and loaded values are unknown. A loop whose upper bound is unknown runs as often as `trips` says: the bound is
the number that makes it so wherever it is used. Condition of branches and `while` loops that stay unknown are chosen
too. A slot, parity or activity that stays unknown is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tilewright.backend_ptx import ops
from tilewright.backend_ptx.resources.shared import buffer_bytes
from tilewright.backend_ptx.simulator.protocols.program import Act, Action, Place, Process, Protocol
from tilewright.backend_ptx.simulator.protocols.tables import targets_of
from tilewright.tileir.analysis.evaluate import evaluate
from tilewright.tileir.core import Block, Function, Op, Value, clone_function
from tilewright.tileir.engines import MAIN, THREADS
from tilewright.tileir.ops import arith, arrays, control
from tilewright.tileir.passes.project import initial_ops, project
from tilewright.tileir.rewrite import constant_value
from tilewright.tileir.rules import RuleTable
from tilewright.tileir.types import SharedType, TileType

WARPGROUP = 4


class UnfollowedError(Exception):
    """The protocol depends on a value that is only known when the kernel runs, or on an op that has no rule here."""


@dataclass(frozen=True, slots=True)
class Choices:
    """`trips` of the loops with unknown bounds, in program order (the last counts for further ones); `branches`: the
    outcomes of unknown conditions, each condition going round them on its own."""

    trips: tuple[int, ...]
    branches: tuple[bool, ...] = (True,)


@dataclass(slots=True)
class Marks:
    """The values of a function that are chosen, by the hint that marks them in each role's copy."""

    function: Function
    loops: int
    uppers: dict[str, tuple[Value, Value, int]]
    starts: dict[str, int]
    conditions: set[str]
    whiles: dict[str, int]


def marked(function: Function) -> Marks:
    """A copy of the function in which the values that may be chosen have unique hints."""
    copy = clone_function(function)
    marks = Marks(copy, 0, {}, {}, set(), {})
    for op in copy.walk():
        if isinstance(op, control.For):
            _mark_for(op, marks)
        elif isinstance(op, control.If):
            marks.conditions.add(_mark(op.cond, marks))
        elif isinstance(op, control.While):
            condition: Any = op.before.terminator
            marks.whiles[_mark(condition.cond, marks)] = marks.loops
            marks.loops += 1
    return marks


def _mark_for(op: control.For, marks: Marks) -> None:
    upper = op.upper
    if constant_value(upper) is None and upper.hint not in marks.uppers:
        marks.uppers[_mark(upper, marks)] = op.lower, op.step, marks.loops
        marks.loops += 1
    for value, start in ((op.lower, 0), (op.step, 1)):
        if constant_value(value) is None and value.hint not in marks.uppers:
            marks.starts[_mark(value, marks)] = start


def _mark(value: Value, marks: Marks) -> str:
    if not value.hint.startswith("!"):
        value.hint = f"!{len(marks.uppers) + len(marks.starts) + len(marks.conditions) + len(marks.whiles)}{value.hint}"
    return value.hint


class Follower:
    """Follows one role's function; `actions` is what its threads do, `slots` where buffers lie."""

    def __init__(self, marks: Marks, choices: Choices, role: str, team: int = 0, teams: int = 1) -> None:
        self.marks = marks
        self.choices = choices
        self.role = role
        self.team, self.teams = team, teams
        self.block: int | None = None  # of the launch, where CTAs loop over them
        self.actions: list[Action] = []
        self.blocks: list[int | None] = []  # by action
        self.extents: dict[Place, tuple[int, int]] = {}
        self.counts: dict[str, int] = {}
        self.numbers: dict[Value, Any] = {}
        self.buffers: dict[Value, Place] = {}
        self._asked: dict[str, int] = {}

    def emit(self, kind: Act, op: Op, *places: Place, a: int = 0, ctas: int = 1) -> None:
        self.actions.append(Action(kind, places, a, ctas, op.span.line))
        self.blocks.append(self.block)

    def known(self, value: Value, what: str, op: Op) -> int:
        """A scalar that the protocol needs."""
        found = self.number(value)
        if found is None:
            raise UnfollowedError(f"{what} of {op.opcode} in line {op.span.line} is not known")
        return int(found)

    def number(self, value: Value) -> Any:
        """The scalar, None where it is unknown."""
        return self.numbers.get(value)

    def place(self, buffer: Value, slot: Value | None, op: Op, ahead: int = 0) -> Place:
        """The slot of a ring (or the slot of which the buffer is a view)."""
        name, number = self.buffers[buffer]
        if slot is None:
            return name, number
        return name, (self.known(slot, "the slot", op) + ahead) % buffer.type.copies

    def run(self, block: Block) -> None:
        for op in block.ops:
            rule = RULES.of(op)
            if rule is not None:
                rule(self, op)
            elif is_asynchronous(op):
                raise UnfollowedError(
                    f"{op.opcode} in line {op.span.line} starts, awaits or orders asynchronous accesses, and protocols "
                    "have no rule for it: register one in RULES")
            elif not op.terminator:
                self.scalar(op)

    def scalar(self, op: Op) -> None:
        """Evaluate an op of scalars."""
        for result in op.results:
            if isinstance(result.type, TileType) and not result.type.shape:
                self.numbers[result] = self._chosen(result, self._evaluated(op))

    def _evaluated(self, op: Op) -> Any:
        operands = [self.number(v) for v in op.operands]
        if isinstance(op, arith.Select) and operands[0] is not None:
            return operands[1] if operands[0] else operands[2]
        constant = constant_value(op.results[0])
        if constant is not None:
            return constant
        if None in operands or len(op.results) != 1 or not operands:
            return None
        return evaluate(op, operands)

    def _chosen(self, value: Value, found: Any) -> Any:
        """The value of a marked one, chosen where it is unknown."""
        if found is not None or not value.hint.startswith("!"):
            return found
        return self._bound(value.hint)

    def _bound(self, hint: str) -> Any:
        if hint in self.marks.uppers:
            lower, step, number = self.marks.uppers[hint]
            return self._start(lower) + self._start(step) * self._trips(number)
        if hint in self.marks.starts:
            return self.marks.starts[hint]
        if hint in self.marks.conditions:
            return self._outcome(hint)
        return None

    def _start(self, value: Value) -> int:
        """A lower bound or step, in the marked function, whose values stand by hint in each role's."""
        constant = constant_value(value)
        if constant is not None:
            return int(constant)
        return next((int(n) for v, n in self.numbers.items() if v.hint == value.hint and n is not None),
                    self._bound(value.hint) or 0)

    def _trips(self, number: int) -> int:
        trips = self.choices.trips
        return trips[min(number, len(trips) - 1)]

    def _outcome(self, hint: str) -> bool:
        count = self._asked[hint] = self._asked.get(hint, 0) + 1
        return self.choices.branches[(count - 1) % len(self.choices.branches)]

    def pass_on(self, targets: Sequence[Value], sources: Sequence[Value]) -> None:
        values = [self.numbers.get(v) for v in sources]
        buffers = [self.buffers.get(v) for v in sources]
        for target, value, buffer in zip(targets, values, buffers, strict=True):
            self.numbers[target] = value
            if buffer is not None:
                self.buffers[target] = buffer

    def while_goes_on(self, cond: Value, done: int) -> bool:
        found = self.number(cond)
        if found is not None and cond.hint not in self.marks.whiles:
            return bool(found)
        number = self.marks.whiles.get(cond.hint)
        return bool(found) if number is None else done < self._trips(number)


def is_asynchronous(op: Op) -> bool:
    """Does an engine other than the threads themselves start, complete or see anything by this op?"""
    effects = op.effects()
    return bool(effects.completes or effects.fence or any(start.engine is not THREADS for start in effects.starts))


Rule = Callable[[Follower, Any], None]
RULES: RuleTable[Rule] = RuleTable("rule of protocols")


@RULES.register(control.For)
def _for(at: Follower, op: control.For) -> None:
    iv, *carried = op.loop.params
    lower, upper, step = (at.known(v, "a bound", op) for v in (op.lower, op.upper, op.step))
    at.pass_on(carried, op.init)
    for k in range(lower, upper, step):
        at.numbers[iv] = k
        at.block = k if isinstance(op.lower.op, arrays.LaunchedBlock) else at.block
        at.run(op.loop)
        at.pass_on(carried, op.loop.terminator.operands)
    at.pass_on(op.results, carried)


@RULES.register(control.If)
def _if(at: Follower, op: control.If) -> None:
    taken = op.then if at.known(op.cond, "the condition", op) else op.orelse
    at.run(taken)
    at.pass_on(op.results, taken.terminator.operands)


@RULES.register(control.While)
def _while(at: Follower, op: control.While) -> None:
    condition: Any = op.before.terminator
    at.pass_on(op.before.params, op.init)
    done = 0
    while True:
        at.run(op.before)
        at.pass_on(op.after.params, condition.values)
        if not at.while_goes_on(condition.cond, done):
            break
        at.run(op.after)
        at.pass_on(op.before.params, op.after.terminator.operands)
        done += 1
    at.pass_on(op.results, condition.values)


@RULES.register(arrays.LaunchedBlock, arrays.LaunchedBlocks, arrays.NumBlocks, ops.warpgroup.SkippedBlocks)
def _of_grid(at: Follower, op: Any) -> None:
    """Where CTAs loop over the blocks of a launch, one runs all: as many as the outermost loop has iterations."""
    if isinstance(op, arrays.LaunchedBlock):
        at.numbers[op.result] = at.team
    elif isinstance(op, arrays.LaunchedBlocks):
        at.numbers[op.result] = at.teams
    elif isinstance(op, ops.warpgroup.SkippedBlocks):
        at.numbers[op.result] = at.team if op.first else at.teams - 1
    elif at.marks.function.plan.looped:
        at.numbers[op.result] = 1 if op.axis else at.choices.trips[0]
    else:
        at.scalar(op)


@RULES.register(ops.shared.SharedAlloc)
def _alloc(at: Follower, op: Any) -> None:
    type_: SharedType = op.type
    size = type_.size * type_.dtype.bytes
    first = op.offset + at.team * op.each * buffer_bytes(type_)
    name = f"{op.result.hint or 'buffer'}@{first}+{size}"
    at.buffers[op.result] = name, 0
    at.extents.update({(name, k): (first + k * size, first + (k + 1) * size) for k in range(type_.copies)})


@RULES.register(ops.warpgroup.SharedView)
def _view(at: Follower, op: Any) -> None:
    at.buffers[op.result] = at.place(op.buffer, op.slot, op)


@RULES.register(ops.bulk.MbarrierInit)
def _init(at: Follower, op: Any) -> None:
    at.counts[at.buffers[op.barriers][0]] = op.count


@RULES.register(ops.bulk.MbarrierWait)
def _wait(at: Follower, op: Any) -> None:
    at.emit(Act.WAIT, op, at.place(op.barriers, op.slot, op), a=at.known(op.parity, "the parity", op))


@RULES.register(ops.bulk.MbarrierArrive)
def _arrive(at: Follower, op: Any) -> None:
    if op.active is None or at.known(op.active, "the activity", op):
        at.emit(Act.ARRIVE, op, at.place(op.barriers, op.slot, op), ctas=op.ctas)


@RULES.register(ops.bulk.MbarrierExpect)
def _expect(at: Follower, op: Any) -> None:
    at.emit(Act.EXPECT, op, at.place(op.barriers, op.slot, op), a=op.bytes)


@RULES.register(ops.bulk.TmaLoad)
def _tma_load(at: Follower, op: Any) -> None:
    type_ = op.buffer.type
    slot, barrier = at.place(op.buffer, op.slot, op), at.place(op.barriers, op.slot, op)
    at.emit(Act.COPY, op, slot, barrier, a=type_.size * type_.dtype.bytes // op.ctas, ctas=op.ctas)


@RULES.register(ops.bulk.TmaStore)
def _tma_store(at: Follower, op: Any) -> None:
    at.emit(Act.STORE, op, at.place(op.buffer, None, op), a=op.warps)


@RULES.register(ops.bulk.TmaStoreWait)
def _tma_store_wait(at: Follower, op: Any) -> None:
    at.emit(Act.STORE_WAIT, op, a=op.pending)


@RULES.register(ops.matmul.Product)
def _product(at: Follower, op: Any) -> None:
    shared = [v for v in (op.a, op.b) if isinstance(v.type, SharedType)]
    if shared:
        at.emit(Act.READ, op, *(at.place(v, None, op) for v in shared))


@RULES.register(ops.warpgroup.WgmmaWait)
def _wgmma_wait(at: Follower, op: Any) -> None:
    at.emit(Act.READ_WAIT, op, a=op.pending)


@RULES.register(ops.shared.SharedStore)
def _store(at: Follower, op: Any) -> None:
    at.emit(Act.FILL, op, at.place(op.buffer, op.slot, op, op.ahead))


@RULES.register(ops.shared.SharedLoad)
def _load(at: Follower, op: Any) -> None:
    at.emit(Act.TOUCH, op, at.place(op.buffer, op.slot, op, op.ahead))


@RULES.register(ops.async_copy.AsyncCopy)
def _async_copy(at: Follower, op: Any) -> None:
    if at.known(op.active, "the activity", op):
        at.emit(Act.ASYNC_FILL, op, at.place(op.buffer, op.slot, op, op.ahead))


@RULES.register(ops.async_copy.AsyncCommit)
def _commit(at: Follower, op: Any) -> None:
    at.emit(Act.COMMIT, op)


@RULES.register(ops.async_copy.AsyncWait)
def _async_wait(at: Follower, op: Any) -> None:
    at.emit(Act.ASYNC_WAIT, op, a=op.pending)


@RULES.register(ops.warpgroup.ProxyFence)
def _fence(at: Follower, op: Any) -> None:
    at.emit(Act.FENCE, op)


@RULES.register(ops.shared.Barrier)
def _barrier(at: Follower, op: Any) -> None:
    if op.scope == "block":  # the threads of a warp are in step anyway
        at.emit(Act.SYNC, op)


@RULES.register(ops.warpgroup.TakeTurn)
def _take(at: Follower, op: Any) -> None:
    at.emit(Act.TAKE, op)


@RULES.register(ops.warpgroup.PassTurn)
def _pass(at: Follower, op: Any) -> None:
    at.emit(Act.PASS, op)


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


def loops_of(function: Function) -> int:
    """How many trip counts a protocol of the function has."""
    return marked(function).loops
