"""What the simulator reports. Each error names the instruction, its line, and threads that are at fault."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import SupportsInt


class SimError(Exception):
    """A defect of the simulated code. `where`, a text, and `line`, that of the LLVM IR, are filled in by the machine.
    """

    def __init__(self, message: str, threads: Iterable[SupportsInt] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.threads = [int(t) for t in islice(threads, 4)]
        self.where = ""
        self.line = 0

    def __str__(self) -> str:
        who = f" (threads {', '.join(map(str, self.threads))}...)" if self.threads else ""
        return f"{self.message}{who}{self.where}"


class OutOfRange(SimError):
    """An access outside every array, or between the elements of a strided one."""


class Misaligned(SimError):
    """An address that is no multiple of the access's alignment."""


class UnwrittenRead(SimError):
    """A read of shared or local memory that nothing has written."""


class PendingCopy(SimError):
    """An access to bytes that an asynchronous copy may still be writing."""


class Race(SimError):
    """Two accesses of different threads to one byte, at least one a write, with nothing that orders them."""


class Unfenced(SimError):
    """A matrix unit or bulk copy uses what a thread wrote, and no fence makes that visible to it."""


class LeftBlock(SimError):
    """Something reaches the shared memory of another block of the cluster, which may have left the kernel."""


class NotStarted(SimError):
    """Something reaches the shared memory of another block of the cluster, which may not have started yet."""


class InFlight(SimError):
    """A thread uses a register that a matrix unit may still be writing."""


class Divergence(SimError):
    """A collective instruction that some threads of the warp did not reach together."""


class Deadlock(SimError):
    """Threads that wait for something that cannot happen any more."""


class Trap(SimError):
    """The kernel has executed `trap`: an assertion of the user's failed."""


class Undefined(SimError):
    """What LLVM takes for impossible: it may drop the code around it, whatever the instruction of the GPU would do."""


class Unsupported(SimError):
    """An instruction or form that the simulator does not model."""
