"""One instruction of the table: its assembly text, operand and result types, effects, and the name of its meaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from tilewright.backend_ptx.llvm.builder import Builder, Val
from tilewright.backend_ptx.llvm.constants import type_text
from tilewright.backend_ptx.llvm.emitter import Kind
from tilewright.backend_ptx.llvm.values import Recast

# The inline-assembly constraint of each LLVM type that a register can hold.
REGISTER: Final[Mapping[str, str]] = {"i1": "b", "i16": "h", "i32": "r", "i64": "l", "float": "f", "double": "d",
                                      "ptr addrspace(1)": "l", "ptr addrspace(3)": "l", "ptr": "l"}


# Types beside that of an operand which fill a register as it does: floats, and pairs of narrow ones.
FILLING: Final = frozenset(("half", "bfloat", "float", "double", "<2 x half>", "<2 x bfloat>"))


def braced(first: int, count: int) -> str:
    """Some operands in a row, as a vector in the assembly text."""
    return "{" + ", ".join(f"${first + i}" for i in range(count)) + "}"


def _together(types: Sequence[str]) -> str:
    """Several values as one."""
    return "void" if not types else types[0] if len(types) == 1 else "{ " + ", ".join(types) + " }"


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
        return _together(self.results)

    def emit(self, b: Builder, *args: Val) -> tuple[Val, ...]:
        """Append the instruction to `b`; the arguments are scalars of exactly the types `operands`.

        Of a `Recast`, the asm takes the other value if that fills the same register, and the result that is tied to it
        has its type: a float that is loaded and stored is never an integer in between.
        """
        given = tuple([a.type for a in args])
        assert given == self.operands, f"{self.name}: operands {given}, expected {self.operands}"
        kinds: list[Kind] = [(t, 0) for t in self.results]
        taken, result, tied = args, self.result, False
        if Recast in set(map(type, args)):
            taken = tuple([a.source if type(a) is Recast and a.source.type in FILLING else a for a in args])
            like = {out: taken[i] for i, out in self.tied.items() if taken[i] is not args[i]}
            tied = bool(like)
            kinds = [(like[i].elem, like[i].n) if i in like else kind for i, kind in enumerate(kinds)]
            result = _together([type_text(*kind) for kind in kinds])
        value = b.asm(self.asm, self.constraints, [taken[i] for i in self.order], result, convergent=self.convergent,
                      memory=self.memory, pure=not (self.memory or self.ordered))
        if value is None:
            return ()
        out = b.members(value, kinds) if len(kinds) > 1 else (Val(*kinds[0], value.text),)
        return tuple([b.bitcast(v, t, 0) for v, t in zip(out, self.results, strict=True)]) if tied else out

    def emit1(self, b: Builder, *args: Val) -> Val:
        """`emit` of an instruction with one result."""
        (value,) = self.emit(b, *args)
        return value
