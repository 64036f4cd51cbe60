"""What the parser makes of LLVM text: modules, functions, blocks, instructions, operands."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tilewright.backend_ptx.simulator.text.types import Type

# The bits of a constant: an int for a scalar, a tuple for a vector or aggregate, None for undef and poison.
Bits = int | tuple["Bits", ...] | None


@dataclass(frozen=True)
class Operand:
    """A typed use of a value."""

    type: Type


@dataclass(frozen=True)
class Local(Operand):
    name: str


@dataclass(frozen=True)
class Const(Operand):
    bits: Bits


@dataclass(frozen=True)
class Global(Operand):
    name: str


@dataclass(frozen=True)
class ConstExpr(Operand):
    """A constant expression: an instruction whose operands are constants."""

    instruction: LlvmInstruction


@dataclass
class LlvmInstruction:
    """`opcode`, the operands, and in `extra` what else the line says (predicate, labels, alignment, callee...)."""

    opcode: str
    type: Type
    operands: list[Operand]
    result: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    line: int = 0
    text: str = ""


@dataclass
class Block:
    label: str
    instructions: list[LlvmInstruction] = field(default_factory=list)


@dataclass
class Function:
    name: str
    returns: Type
    params: list[tuple[Type, str]]
    attributes: str
    blocks: list[Block] = field(default_factory=list)


@dataclass
class GlobalVariable:
    name: str
    space: int
    type: Type
    align: int
    initial: Bits
    external: bool
    constant: bool = False


@dataclass
class LlvmModule:
    functions: dict[str, Function] = field(default_factory=dict)
    globals: dict[str, GlobalVariable] = field(default_factory=dict)
    attributes: dict[str, str] = field(default_factory=dict)
    types: dict[str, Type] = field(default_factory=dict)
