"""The threads of a block or cluster as one NumPy axis: what every operation works on.

A value is an array [threads] or [threads, lanes]; where it is the same for all threads the first axis may be 1.
Blocks of a cluster run together: the axis holds the threads of all of them, block after block.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, cast

import numpy as np

from tilewright.backend_ptx.simulator.errors import Divergence
from tilewright.backend_ptx.simulator.memory.memory import Memory
from tilewright.backend_ptx.targets import DEFAULT
from tilewright.tileir.tensor_cores import TensorCores

Array = np.ndarray[Any, Any]
Value = Any  # an array, or a tuple of values for an aggregate
Registers = list[Value]
WARP = 32


class Wait(Protocol):
    """What a group waits for; `ready` is polled."""

    @property
    def text(self) -> str: ...

    def ready(self, machine: Machine) -> bool: ...


class Agent(Protocol):
    """Something that works beside the threads; `step` does one piece and says whether it has more."""

    def step(self, machine: Machine) -> bool: ...


class BlockState:
    """What instructions keep while one block or cluster runs; made at the first use of its class, then found by it."""

    def __init__(self, machine: Machine) -> None:
        """For a block that has just started."""

    def check(self, machine: Machine) -> None:
        """Raise SimError if the block may not end like this. Called when all of its threads have left."""


State = TypeVar("State", bound=BlockState)


@dataclass
class Split:
    """What an operation returns when its threads go on apart: masks, and what each part waits for."""

    parts: list[tuple[Array, Wait | None]]


class Machine:
    """The threads of the present block or cluster, and the memory of the launch.

    `threads`, `warps` and everything that counts them are those of the cluster; `block_threads` and `block_warps` are
    those of a block, of which an SM must be able to hold `resident` at a time. An operation runs for the threads of
    `mask` (None: all), whose numbers are `active`.
    """

    def __init__(
        self, memory: Memory, threads: int, grid: tuple[int, int, int], seed: int, cluster: int = 1,
        tensor_cores: TensorCores = DEFAULT.tensor_cores, resident: int = 1,
    ) -> None:
        self.tensor_cores, self.resident = tensor_cores, resident
        self.memory, self.grid, self.cluster = memory, grid, cluster
        self.block_threads, self.block_warps = threads, -(-threads // WARP)
        self.threads, self.warps = threads * cluster, self.block_warps * cluster
        self.random = random.Random(seed)
        self.all_threads = np.arange(self.threads)
        self.ranks = self.all_threads // threads  # the block of each thread
        self.returned: Value = None  # what the last `ret` returns
        self.exited = np.zeros(self.threads, bool)
        self.start_block((0, 0, 0))

    def start_block(self, block: tuple[int, int, int]) -> None:
        """All threads are there, and nothing has happened. `block` is the first of a cluster."""
        self.block_index = block
        self.mask: Array | None = None
        self.active = self.all_threads
        self.agents: list[Agent] = []
        self.exited[:] = False
        self._states: dict[type[BlockState], BlockState] = {}

    def of_block(self, kind: type[State]) -> State:
        """The present block's state of this class."""
        found = self._states.get(kind)
        if found is None:
            found = self._states[kind] = kind(self)
        return cast(State, found)

    def has(self, kind: type[BlockState]) -> bool:
        """Whether the present block has state of this class."""
        return kind in self._states

    def check_end(self) -> None:
        """All threads have left: is everything that they started at its end?"""
        if self.memory.prior is not None:
            self.memory.prior.check_end()
        for state in list(self._states.values()):
            state.check(self)

    def select(self, mask: Array | None) -> None:
        """Operations run for these threads from now on."""
        self.mask = mask
        self.active = self.all_threads if mask is None else np.nonzero(mask)[0]

    def put(self, registers: Registers, slot: int, value: Value) -> None:
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

    def part(self, waits: list[tuple[Array, Wait | None]]) -> Wait | Split | None:
        """What an operation returns when these threads (all that are active) wait for that."""
        if all(wait is None for _, wait in waits):
            return None
        if len(waits) == 1:
            return waits[0][1]
        return Split([(self.mask_of(threads), wait) for threads, wait in waits])

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


def merge(mask: Array, new: Value, old: Value) -> Value:
    """New values where the mask says so, old ones elsewhere; aggregates member by member."""
    if isinstance(new, tuple):
        return tuple(merge(mask, n, o) for n, o in zip(new, old, strict=True))
    if new is old:
        return old
    return np.where(mask if new.ndim == 1 else mask[:, None], new, old)
