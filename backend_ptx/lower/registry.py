"""Which function lowers which op, and which ops the backend refuses on purpose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tilewright.backend_ptx.instructions.table import instruction
from tilewright.backend_ptx.llvm.builder import Val
from tilewright.backend_ptx.lower.context import Context
from tilewright.tileir.core import Op
from tilewright.tileir.diagnostics import TileUnsupportedFeatureError
from tilewright.tileir.rules import RuleTable

Lowering = Callable[[Context, Any], None]


class Refusal(NamedTuple):
    """An op that has no lowering: the reason and the advice that the user reads."""

    reason: str
    hint: str


LOWERINGS: RuleTable[Lowering] = RuleTable("lowering")
lower = LOWERINGS.register
"""Decorator: this function emits the LLVM text of these ops."""
REFUSALS: RuleTable[Refusal] = RuleTable("refusal of the backend")


def elementwise(*classes: type[Op]) -> Callable[[Callable[..., Val]], Callable[..., Val]]:
    """Decorator: this function makes the result's fragment from the builder, the op and its operands' fragments."""

    def register(function: Callable[..., Val]) -> Callable[..., Val]:
        @LOWERINGS.register(*classes)
        def lowering(ctx: Context, op: Op) -> None:
            ctx.set(op.result, function(ctx.b, op, *(ctx[value] for value in op.operands)))

        return function

    return register


def emits(cls: type[Op], name: str) -> None:
    """Declare that an op without operands becomes this one instruction."""
    def lowering(ctx: Context, op: Op) -> None:
        instruction(name).emit(ctx.b)

    LOWERINGS.add(cls, lowering)


def refuse(cls: type[Op], reason: str, hint: str = "run it in the interpreter") -> None:
    """Declare that the GPU backend does not do this op."""
    REFUSALS.add(cls, Refusal(reason, hint))


def lowering_of(op: Op) -> Lowering:
    """The function for an op; TileUnsupportedFeatureError for a refused one."""
    found = LOWERINGS.of(op)
    if found is not None:
        return found
    refusal = REFUSALS.of(op)
    if refusal is None:
        raise AssertionError(f"no lowering of {op.opcode}")
    raise TileUnsupportedFeatureError(f"{op.opcode}: {refusal.reason}", hints=[refusal.hint])
