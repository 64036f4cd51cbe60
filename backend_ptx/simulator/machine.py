"""Run a compiled kernel for one block after another: threads are a NumPy axis, groups of threads share a place.

Blocks of a cluster run together: the axis holds the threads of all of them, block after block.

A value is an array [threads] or [threads, lanes]; where it is the same for all threads the first axis may be 1.
A *group* is a set of threads at one place. A branch splits a group; groups at one place merge. The group at the
deepest call and the first block in the text runs next, so that the sides of a branch meet again where the text
says. With schedule="random" each warp is on its own, and a seed chooses which warp runs its next piece.

Collective instructions ask `whole_warps`; a barrier returns a wait that the scheduler polls. Asynchronous agents
(copies that land by themselves, matrix units) register in `agents`; the scheduler lets one step now and then, and
whenever every group waits, so they finish late and in a random order.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

from tilewright.backend_ptx.simulator.code import (
    Agent,
    Call,
    Code,
    Compiled,
    Frame,
    Group,
    Parts,
    Registers,
    Wait,
    is_inside,
    merge,
    ranges,
)
from tilewright.backend_ptx.simulator.errors import Deadlock, Divergence, SimError
from tilewright.backend_ptx.simulator.memory import Memory

Array = np.ndarray[Any, Any]
WARP = 32


class Machine:
    """The state of a launch; `run_block` runs one block, or one cluster of them.

    `threads`, `warps` and everything that counts them are those of the cluster; `block_threads` and `block_warps` are
    those of a block.
    """

    def __init__(
        self, kernel: Compiled, memory: Memory, threads: int, grid: tuple[int, int, int], schedule: str, seed: int,
        max_steps: int, cluster: int = 1,
    ) -> None:
        self.kernel, self.memory, self.grid, self.cluster = kernel, memory, grid, cluster
        self.block_threads, self.block_warps = threads, -(-threads // WARP)
        self.threads, self.warps = threads * cluster, self.block_warps * cluster
        self.random = random.Random(seed)
        self._split = schedule == "random"
        self._max_steps = max_steps * cluster
        self.all_threads = np.arange(self.threads)
        self.ranks = self.all_threads // threads  # the block of each thread
        self.mask: Array | None = None
        self.active = self.all_threads
        self.block_index = (0, 0, 0)
        self.group: Group
        self.groups: list[Group] = []
        self.agents: list[Agent] = []
        self.block_state: dict[str, Any] = {}  # what instructions keep per block (copies in flight, barriers)
        self.final_checks: list[Callable[[Machine], None]] = []  # run when all threads of the block have left
        self.exited = np.zeros(self.threads, bool)
        self.returned: Any = None  # what the last `ret` returns

    # ---- for operations ----

    def put(self, registers: Registers, slot: int, value: Any) -> None:
        """Write a result for the active threads."""
        mask = self.mask
        if mask is None:
            registers[slot] = value
            return
        old = registers[slot]
        registers[slot] = value if old is None else merge(mask, value, old)

    def spread(self, value: Array) -> Array:
        """The value for every thread, first axis = threads."""
        if value.shape[0] == self.threads:
            return value
        return np.broadcast_to(value, (self.threads, *value.shape[1:]))

    def of_active(self, value: Array) -> Array:
        """The value of the active threads only."""
        value = self.spread(value)
        return value if self.mask is None else value[self.active]

    def to_threads(self, value: Array) -> Array:
        """Results of the active threads, spread over all threads (zero for the others)."""
        if self.mask is None:
            return value
        out = np.zeros((self.threads, *value.shape[1:]), value.dtype)
        out[self.active] = value
        return out

    def mask_of(self, threads: Array) -> Array:
        """These threads as a mask."""
        mask = np.zeros(self.threads, bool)
        mask[threads] = True
        return mask

    def by_block(self, threads: Array) -> list[tuple[int, Array]]:
        """(rank of a block, those of the threads that are its own)."""
        if self.cluster == 1:
            return [(0, threads)]
        ranks = self.ranks[threads]
        return [(int(r), threads[ranks == r]) for r in np.unique(ranks)]

    def part(self, waits: list[tuple[Array, Wait | None]]) -> Wait | Parts | None:
        """What an operation returns when these threads (all that are active) wait for that."""
        if all(wait is None for _, wait in waits):
            return None
        if len(waits) == 1:
            return waits[0][1]
        return Parts([(self.mask_of(threads), wait) for threads, wait in waits])

    def active_warps(self) -> Array:
        """The warps that have an active thread."""
        if self.mask is None:
            return np.arange(self.warps)
        return np.unique(self.active // WARP)

    def whole_warps(self, name: str) -> Array:
        """The warps that execute a collective instruction; all their threads must be here."""
        if self.mask is None:
            return np.arange(self.warps)
        warps = self.active_warps()
        lanes = warps[:, None] * WARP + np.arange(WARP)
        missing = lanes[(lanes < self.threads) & ~self.mask[np.minimum(lanes, self.threads - 1)]]
        if len(missing):
            gone = " (they have left the kernel)" if self.exited[missing].all() else ""
            raise Divergence(f"{name}: {len(missing)} threads of the warp do not take part{gone}", missing)
        return warps

    # ---- scheduling ----

    def run_block(self, block: tuple[int, int, int], arguments: list[Any]) -> None:
        """Run every thread to its end, of one block or of the cluster whose first block it is."""
        self.block_index = block
        self.block_state = {}
        self.agents = []
        self.final_checks = []
        self.exited[:] = False
        registers = list(self.kernel.registers)
        for slot, value in zip(self.kernel.params, arguments, strict=True):
            registers[slot] = value
        frame = Frame(self.kernel, registers)
        self.groups = []
        if self._split and self.warps > 1:
            for warp in range(self.warps):
                self.groups.append(Group(frame, 0, 0, self.all_threads // WARP == warp, warp))
        else:
            self.groups.append(Group(frame, 0, 0, None, 0))
        steps = 0
        while self.groups:
            self._run(self._choose())
            steps += 1
            if steps > self._max_steps:
                raise Deadlock(f"block {block} is still running after {steps} steps")
        for check in self.final_checks:
            check(self)
        while self.agents:
            self._step_agent()

    def _choose(self) -> Group:
        """Take the next group out of the list, merged with those at its place."""
        while True:
            if self.agents and self._split and self.random.random() < 0.3:
                self._step_agent()
            ready = [g for g in self.groups if g.wait is None or g.wait.ready(self)]
            if ready:
                break
            if not self.agents:
                raise self._stuck()
            self._step_agent()
        if self._split:
            owner = self.random.choice(ready).owner
            ready = [g for g in ready if g.owner == owner]
        group = min(ready, key=lambda g: g.place)
        group.wait = None
        same = [g for g in ready if g is not group and g.frame is group.frame and g.place == group.place]
        for other in same:
            assert group.mask is not None and other.mask is not None
            group.mask = group.mask | other.mask
        gone = {id(group), *map(id, same)}
        self.groups = [g for g in self.groups if id(g) not in gone]
        if group.mask is not None and group.mask.all():
            group.mask = None
        return group

    def _step_agent(self) -> None:
        agent = self.random.choice(self.agents)
        if not agent.step(self):
            self.agents.remove(agent)

    def _stuck(self) -> Deadlock:
        waiting: dict[str, list[Array]] = {}
        for g in self.groups:
            assert g.wait is not None
            number, text = g.frame.code.blocks[g.block].sources[g.index - 1]
            members = self.all_threads if g.mask is None else np.nonzero(g.mask)[0]
            waiting.setdefault(f"wait for {g.wait.text} at line {number}: {text}", []).append(members)
        lines = [f"threads {ranges(np.concatenate(who))} {what}" for what, who in waiting.items()]
        left = int(self.exited.sum())
        if left:
            lines.append(f"{left} threads have left the kernel")
        return Deadlock("nothing can go on: " + "; ".join(lines))

    def _enter(self, group: Group) -> None:
        self.group = group
        self.mask = group.mask
        self.active = self.all_threads if group.mask is None else np.nonzero(group.mask)[0]

    def _run(self, group: Group) -> None:
        """Run a group until it waits, splits, or leaves the kernel."""
        self._enter(group)
        while True:
            code = group.frame.code.blocks[group.block]
            registers = group.frame.registers
            operations = code.operations
            i = group.index
            try:
                while i < len(operations):
                    asked = operations[i](self, registers)
                    i += 1
                    if asked is not None:
                        break
                else:
                    asked = None
                    targets = code.finish(self, registers)
            except SimError as error:
                error.where = self._where(code, i)
                raise
            group.index = i
            if isinstance(asked, Call):
                self._call(group, asked)
            elif isinstance(asked, Parts):
                for part, wait in asked.parts:
                    self.groups.append(Group(group.frame, group.block, i, part, group.owner, wait))
                return
            elif asked is not None:
                group.wait = asked
                self.groups.append(group)
                return
            elif not targets:
                if not self._return(group):
                    return
            elif len(targets) == 1:
                group.block, group.index = targets[0][0], 0
                if len(self.groups) and not self._alone(group):
                    self.groups.append(group)
                    return
            else:
                for block, mask in targets:
                    self.groups.append(Group(group.frame, block, 0, mask, group.owner))
                return

    def _alone(self, group: Group) -> bool:
        """Whether no other group could be meant to run before or together with this one."""
        if self._split:
            return False
        return all(g.wait is not None for g in self.groups)

    def _call(self, group: Group, call: Call) -> None:
        registers = list(call.code.registers)
        for slot, value in zip(call.code.params, call.arguments, strict=True):
            registers[slot] = value
        frame = group.frame
        group.frame = Frame(
            call.code, registers, frame, (group.block, group.index), call.result, frame.depth + 1
        )
        group.block = group.index = 0

    def _return(self, group: Group) -> bool:
        """Leave the function; False when the group has left the kernel."""
        frame = group.frame
        if frame.caller is None:
            self.exited[self.active] = True
            return False
        group.frame = frame.caller
        group.block, group.index = frame.back
        if frame.result is not None:
            self.put(group.frame.registers, frame.result, self.returned)
        # Threads that took another way through the function may still be inside: meet them here.
        if any(is_inside(g.frame, frame) for g in self.groups):
            self.groups.append(group)
            return False
        return True

    def _where(self, code: Code, index: int) -> str:
        number, text = code.sources[min(index, len(code.sources) - 1)]
        where = f"block {self.block_index}"
        if self.cluster > 1:
            where = f"the cluster from {where} ({self.cluster} blocks with {self.block_threads} threads each)"
        return f"\n  in {where} at line {number}: {text}"
