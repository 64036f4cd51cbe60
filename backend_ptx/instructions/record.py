"""One instruction of the table: its assembly text, operand and result types, effects, and the name of its meaning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from tilewright.backend_ptx.llvm.builder import Builder, Val

# The inline-assembly constraint of each LLVM type that a register can hold.
REGISTER: Final[Mapping[str, str]] = {
    "i1": "b", "i16": "h", "i32": "r", "i64": "l", "float": "f", "double": "d",
    "ptr addrspace(1)": "l", "ptr addrspace(3)": "l", "ptr": "l",
}


def braced(first: int, count: int) -> str:
    """Some operands in a row, as a vector in the assembly text."""
    return "{" + ", ".join(f"${first + i}" for i in range(count)) + "}"


@dataclass(frozen=True, eq=False)
class Instruction:
    """An instruction that is emitted as inline assembly.

    `name` is its key in the table. In `asm`, $0.. are the results, then the operands that are not tied.
    `operands` and `results` are LLVM types. `tied` maps an operand's position to the result whose register it
    shares: the result starts as this operand (an accumulator, or the padding of a predicated load).
    Effects: `reads`/`writes` memory (an instruction with either is never removed, merged or moved over a memory
    access); `ordered`: it has another effect that LLVM must keep in place; `convergent`: all threads of the warp
    or block must execute it together.
    `meaning` names the function of the simulator that executes it, `facts` are the function's parameters.
    `sm` and `ptx` are the least compute capability (80) and PTX version (70 for 7.0) that accept it; `exact`: only
    the "a" target of that capability does.
    """

    name: str
    asm: str
    operands: tuple[str, ...]
    results: tuple[str, ...]
    meaning: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    tied: Mapping[int, int] = field(default_factory=dict)
    reads: bool = False
    writes: bool = False
    ordered: bool = False
    convergent: bool = False
    sm: int = 80
    ptx: int = 70
    exact: bool = False

    @cached_property
    def constraints(self) -> str:
        """LLVM's constraint string, without the memory clobber. Tied operands come last, whatever their position."""
        parts = ["=" + REGISTER[t] for t in self.results]
        parts += [REGISTER[t] for i, t in enumerate(self.operands) if i not in self.tied]
        parts += [str(self.tied[i]) for i in sorted(self.tied)]
        return ",".join(parts)

    @cached_property
    def order(self) -> tuple[int, ...]:
        """Positions of the operands in the order in which the call passes them: plain ones, then tied ones."""
        return (*(i for i in range(len(self.operands)) if i not in self.tied), *sorted(self.tied))

    @property
    def memory(self) -> bool:
        return self.reads or self.writes

    @cached_property
    def result(self) -> str:
        """The LLVM type that the call returns: void, the one result, or a struct."""
        if not self.results:
            return "void"
        return self.results[0] if len(self.results) == 1 else "{ " + ", ".join(self.results) + " }"

    def emit(self, b: Builder, *args: Val) -> tuple[Val, ...]:
        """Append the instruction to `b`; the arguments are scalars of exactly the types `operands`."""
        given = tuple([a.type for a in args])
        assert given == self.operands, f"{self.name}: operands {given}, expected {self.operands}"
        value = b.asm(
            self.asm, self.constraints, [args[i] for i in self.order], self.result, convergent=self.convergent,
            memory=self.memory, pure=not (self.memory or self.ordered),
        )
        if value is None:
            return ()
        return (value,) if len(self.results) == 1 else b.members(value, self.results)

    def emit1(self, b: Builder, *args: Val) -> Val:
        """`emit` of an instruction with one result."""
        (value,) = self.emit(b, *args)
        return value
