"""What the machine runs and schedules: compiled code, groups of threads at a place in it, what they wait for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from tilewright.backend_ptx.simulator.machine import Machine

Array = np.ndarray[Any, Any]
Registers = list[Any]


class Wait(Protocol):
    """What a group waits for; `ready` is polled."""

    @property
    def text(self) -> str: ...

    def ready(self, machine: Machine) -> bool: ...


class Agent(Protocol):
    """Something that works beside the threads; `step` does one piece and says whether it has more."""

    def step(self, machine: Machine) -> bool: ...


@dataclass
class Code:
    """One compiled block: operations, the line of each, and where control goes."""

    label: str
    operations: list[Callable[[Machine, Registers], Any]] = field(default_factory=list)
    sources: list[tuple[int, str]] = field(default_factory=list)
    finish: Callable[[Machine, Registers], list[tuple[int, Array | None]]] = lambda m, r: []


@dataclass
class Compiled:
    """A compiled function. `registers` holds the constants and None for the rest."""

    name: str
    params: list[int]
    registers: Registers
    blocks: list[Code]


@dataclass
class Frame:
    """One activation of a function, shared by the groups that are inside it."""

    code: Compiled
    registers: Registers
    caller: Frame | None = None
    back: tuple[int, int] = (0, 0)  # where the caller continues
    result: int | None = None  # the caller's register for the result
    depth: int = 0


@dataclass
class Group:
    """Threads at one place; `mask` None is the whole block."""

    frame: Frame
    block: int
    index: int
    mask: Array | None
    owner: int
    wait: Wait | None = None

    @property
    def place(self) -> tuple[int, int, int]:
        return (-self.frame.depth, self.block, self.index)


@dataclass
class Parts:
    """What an operation returns when its threads go on apart: masks, and what each part waits for."""

    parts: list[tuple[Array, Wait | None]]


@dataclass
class Call:
    """What an operation returns to enter a function."""

    code: Compiled
    arguments: list[Any]
    result: int | None


def ranges(threads: Array) -> str:
    """Stretches of numbers in words."""
    numbers = np.sort(threads)
    pieces = np.split(numbers, np.nonzero(np.diff(numbers) > 1)[0] + 1)
    return ", ".join(f"{p[0]}..{p[-1]}" for p in pieces)


def is_inside(frame: Frame | None, outer: Frame) -> bool:
    while frame is not None:
        if frame is outer:
            return True
        frame = frame.caller
    return False


def merge(mask: Array, new: Any, old: Any) -> Any:
    """New values where the mask says so, old ones elsewhere; aggregates member by member."""
    if isinstance(new, tuple):
        return tuple(merge(mask, n, o) for n, o in zip(new, old, strict=True))
    if new is old:
        return old
    return np.where(mask if new.ndim == 1 else mask[:, None], new, old)
