"""Run a compiled kernel, one block or cluster after another: groups of threads share a place.

A *group* is a set of threads at one place. A branch splits a group; groups at one place merge. The group at the
deepest call and the first block in the text runs next, so that the sides of a branch meet again where the text
says. With schedule="random" each warp is on its own, and a seed chooses which warp runs its next piece.

Collective instructions ask `whole_warps`; a barrier returns a wait that the scheduler polls. Asynchronous agents
(copies that land by themselves, matrix units) register in `agents`; the scheduler lets one step now and then, and
whenever every group waits, so they finish late and in a random order.
"""

from __future__ import annotations

import numpy as np

from tilewright.backend_ptx.simulator.errors import Deadlock, SimError
from tilewright.backend_ptx.simulator.machine.code import (
    Activation,
    Asked,
    Call,
    Code,
    CompiledFunction,
    Targets,
    ThreadGroup,
)
from tilewright.backend_ptx.simulator.machine.state import WARP, Array, Machine, Split, Value


class Scheduler:
    """Runs `kernel` on a machine. A block may take `max_steps` steps; `split`: each warp goes its own way."""

    def __init__(self, kernel: CompiledFunction, machine: Machine, *, split: bool, max_steps: int) -> None:
        self._kernel, self._machine, self._split = kernel, machine, split
        self._max_steps = max_steps * machine.cluster
        self._groups: list[ThreadGroup] = []

    def run_block(self, block: tuple[int, int, int], arguments: list[Value]) -> None:
        """Run every thread to its end, of one block or of the cluster whose first block it is."""
        machine = self._machine
        machine.start_block(block)
        self._groups = self._first_groups(arguments)
        steps = 0
        while self._groups:
            self._run(self._choose())
            steps += 1
            if steps > self._max_steps:
                raise Deadlock(f"block {block} is still running after {steps} steps")
        machine.check_end()
        while machine.agents:
            self._step_agent()

    def _first_groups(self, arguments: list[Value]) -> list[ThreadGroup]:
        """All threads at the kernel's start."""
        registers = list(self._kernel.registers)
        for slot, value in zip(self._kernel.params, arguments, strict=True):
            registers[slot] = value
        frame = Activation(self._kernel, registers)
        m = self._machine
        if not self._split or m.warps == 1:
            return [ThreadGroup(frame, 0, 0, None, 0)]
        return [ThreadGroup(frame, 0, 0, m.all_threads // WARP == warp, warp) for warp in range(m.warps)]

    # ---- which group runs next ----

    def _choose(self) -> ThreadGroup:
        """Take the next group out of the list, merged with those at its place."""
        ready = self._ready()
        if self._split:
            owner = self._machine.random.choice(ready).owner
            ready = [g for g in ready if g.owner == owner]
        group = min(ready, key=lambda g: g.place)
        group.wait = None
        same = [g for g in ready if g is not group and g.frame is group.frame and g.place == group.place]
        for other in same:
            assert group.mask is not None and other.mask is not None
            group.mask = group.mask | other.mask
        gone = {id(group), *map(id, same)}
        self._groups = [g for g in self._groups if id(g) not in gone]
        if group.mask is not None and group.mask.all():
            group.mask = None
        return group

    def _ready(self) -> list[ThreadGroup]:
        """The groups that can go on, at least one; agents work until there is one."""
        m = self._machine
        while True:
            if m.agents and self._split and m.random.random() < 0.3:
                self._step_agent()
            ready = [g for g in self._groups if g.wait is None or g.wait.ready(m)]
            if ready:
                return ready
            if not m.agents:
                raise self._stuck()
            self._step_agent()

    def _step_agent(self) -> None:
        m = self._machine
        agent = m.random.choice(m.agents)
        if not agent.step(m):
            m.agents.remove(agent)

    def _stuck(self) -> Deadlock:
        waiting: dict[str, list[Array]] = {}
        for g in self._groups:
            assert g.wait is not None
            number, text = g.frame.code.blocks[g.block].sources[g.index - 1]
            members = self._machine.all_threads if g.mask is None else np.nonzero(g.mask)[0]
            waiting.setdefault(f"wait for {g.wait.text} at line {number}: {text}", []).append(members)
        lines = [f"threads {_ranges(np.concatenate(who))} {what}" for what, who in waiting.items()]
        left = int(self._machine.exited.sum())
        if left:
            lines.append(f"{left} threads have left the kernel")
        return Deadlock("nothing can go on: " + "; ".join(lines))

    # ---- running a group ----

    def _run(self, group: ThreadGroup) -> None:
        """Run a group until it waits, splits, or leaves the kernel."""
        self._machine.select(group.mask)
        while True:
            asked, targets = self._run_code(group)
            if isinstance(asked, Call):
                _enter(group, asked)
            elif isinstance(asked, Split):
                for part, wait in asked.parts:
                    self._groups.append(ThreadGroup(group.frame, group.block, group.index, part, group.owner, wait))
                return
            elif asked is not None:
                group.wait = asked
                self._groups.append(group)
                return
            elif not targets:
                if not self._return(group):
                    return
            elif len(targets) == 1:
                group.block, group.index = targets[0][0], 0
                if self._groups and not self._alone():
                    self._groups.append(group)
                    return
            else:
                for block, mask in targets:
                    self._groups.append(ThreadGroup(group.frame, block, 0, mask, group.owner))
                return

    def _run_code(self, group: ThreadGroup) -> tuple[Asked, Targets]:
        """Run operations until one asks for something, or to the end of the code's block, which says what is next."""
        code = group.frame.code.blocks[group.block]
        machine, registers, operations = self._machine, group.frame.registers, code.operations
        i = group.index
        asked: Asked = None
        targets: Targets = []
        try:
            while i < len(operations):
                asked = operations[i](machine, registers)
                i += 1
                if asked is not None:
                    break
            else:
                targets = code.finish(machine, registers)
        except SimError as error:
            error.where, error.line = self._where(code, i)
            raise
        group.index = i
        return asked, targets

    def _alone(self) -> bool:
        """Whether no other group could be meant to run before or together with the present one."""
        return not self._split and all(g.wait is not None for g in self._groups)

    def _return(self, group: ThreadGroup) -> bool:
        """Leave the function; False when the group has left the kernel, or waits for others inside the function."""
        m, frame = self._machine, group.frame
        if frame.caller is None:
            m.exited[m.active] = True
            return False
        group.frame = frame.caller
        group.block, group.index = frame.back
        if frame.result is not None:
            m.put(group.frame.registers, frame.result, m.returned)
        # Threads that took another way through the function may still be inside: meet them here.
        if any(_is_inside(g.frame, frame) for g in self._groups):
            self._groups.append(group)
            return False
        return True

    def _where(self, code: Code, index: int) -> tuple[str, int]:
        """An instruction in words, and its line."""
        number, text = code.sources[min(index, len(code.sources) - 1)]
        m = self._machine
        where = f"block {m.block_index}"
        if m.cluster > 1:
            where = f"the cluster from {where} ({m.cluster} blocks with {m.block_threads} threads each)"
        return f"\n  in {where} at line {number}: {text}", number


def _enter(group: ThreadGroup, call: Call) -> None:
    """A group goes into a function."""
    registers = list(call.code.registers)
    for slot, value in zip(call.code.params, call.arguments, strict=True):
        registers[slot] = value
    frame = group.frame
    group.frame = Activation(call.code, registers, frame, (group.block, group.index), call.result, frame.depth + 1)
    group.block = group.index = 0


def _ranges(threads: Array) -> str:
    """Stretches of numbers in words."""
    numbers = np.sort(threads)
    pieces = np.split(numbers, np.nonzero(np.diff(numbers) > 1)[0] + 1)
    return ", ".join(f"{p[0]}..{p[-1]}" for p in pieces)


def _is_inside(frame: Activation | None, outer: Activation) -> bool:
    while frame is not None:
        if frame is outer:
            return True
        frame = frame.caller
    return False
