"""What the assembler says of a plan: accepted, or refused for lack of a resource."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum

from tilewright.backend_ptx import decisions
from tilewright.backend_ptx.resources.shared import OutOfSharedMemory
from tilewright.tileir.diagnostics import TileCompilerExecutionError, TileError

FULL_LEVEL = 3  # the opt_level whose spills say something of the plan


class Shortage(IntEnum):
    """Of two refusals the one with the smaller kind is the better plan. Code with the first three runs."""

    IGNORED = 1  # setmaxnreg
    SPILLS = 2
    SERIALISED = 3  # wgmma serialised
    REGISTERS = 4
    SHARED = 5
    HOPELESS = 6  # never assembled: live ranges take many times what the hint for occupancy leaves


@dataclass(frozen=True, slots=True)
class Rejection:
    """`amount`: bytes of spills, or of shared memory beyond the limit. `needed`: registers per thread, where the
    assembler says so. `ignored`: whether it ignored setmaxnreg, so that all roles have the registers that threads enter
    with. `error` is what the user gets if no other plan is left."""

    kind: Shortage
    words: str
    amount: int = 0
    needed: int | None = None
    error: TileError | None = None
    ignored: bool = False

    @property
    def runs(self) -> bool:
        """Whether there is correct code that is only slow."""
        return self.kind <= Shortage.SERIALISED

    def is_worse_than(self, other: Rejection | None) -> bool:
        return other is None or (self.kind, self.amount) >= (other.kind, other.amount)


def of_log(log: str) -> Rejection | None:
    """The rejection in the information log of a successful assembly."""
    spilled = sum(int(n) for n in re.findall(r"(\d+) bytes spill (?:stores|loads)", log))
    ignored = "'setmaxnreg' ignored" in log
    if re.search(r"wgmma.mma_async instructions are serialized due to[^\n]*register", log):
        words = "ptxas would run wgmma one at a time for want of registers"
        return Rejection(Shortage.SERIALISED, words, spilled, ignored=ignored)
    if spilled:
        return Rejection(Shortage.SPILLS, f"ptxas would spill {spilled} bytes", spilled, ignored=ignored)
    return Rejection(Shortage.IGNORED, "ptxas would ignore setmaxnreg", ignored=True) if ignored else None


def of_error(error: TileCompilerExecutionError) -> Rejection | None:
    """The rejection in the assembler's error, None where it is about something else than resources."""
    text = "\n".join(error.notes)
    if target := re.search(r"register target of (\d+)", text):
        return Rejection(Shortage.REGISTERS, f"ptxas needs {target[1]} registers", needed=int(target[1]), error=error)
    if re.search(r"[Rr]egister allocation failed|[Ii]nsufficient registers|too many registers", text):
        return Rejection(Shortage.REGISTERS, "ptxas finds too few registers", error=error)
    if re.search(r"too much shared data|shared memory", text):
        return Rejection(Shortage.SHARED, "too much shared memory", error=error)
    return None


def of_overflow(error: OutOfSharedMemory) -> Rejection:
    """The rejection of a plan that was never assembled."""
    words = decisions.TOO_MUCH_SHARED.format(decisions.kib(error.excess))
    return Rejection(Shortage.SHARED, words, error.excess, error=error)
