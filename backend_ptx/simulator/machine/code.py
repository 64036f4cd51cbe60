"""CompiledFunction code, and where threads are in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tilewright.backend_ptx.simulator.machine.state import Array, Machine, Registers, Split, Value, Wait


@dataclass
class Call:
    """What an operation returns to enter a function."""

    code: CompiledFunction
    arguments: list[Value]
    result: int | None


Asked = Wait | Split | Call | None  # how the threads go on after an operation
Operation = Callable[[Machine, Registers], Asked]
Targets = list[tuple[int, Array | None]]  # blocks of the code, and which threads go there (None: all)
Finish = Callable[[Machine, Registers], Targets]


@dataclass
class Code:
    """One compiled block: operations, the line of each, and where control goes."""

    label: str
    operations: list[Operation] = field(default_factory=list)
    sources: list[tuple[int, str]] = field(default_factory=list)
    finish: Finish = lambda m, r: []


@dataclass
class CompiledFunction:
    """A compiled function. `registers` holds the constants and None for the rest."""

    name: str
    params: list[int]
    registers: Registers
    blocks: list[Code]


@dataclass
class Activation:
    """One activation of a function, shared by the groups that are inside it."""

    code: CompiledFunction
    registers: Registers
    caller: Activation | None = None
    back: tuple[int, int] = (0, 0)  # where the caller continues
    result: int | None = None  # the caller's register for the result
    depth: int = 0


@dataclass
class ThreadGroup:
    """Threads at one place; `mask` None is the whole block."""

    frame: Activation
    block: int
    index: int
    mask: Array | None
    owner: int
    wait: Wait | None = None

    @property
    def place(self) -> tuple[int, int, int]:
        return (-self.frame.depth, self.block, self.index)
