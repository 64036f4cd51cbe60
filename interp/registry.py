"""The table of NumPy implementations: one handler per op, found by opcode."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from tilewright.tileir.core import OPS, Op
from tilewright.tileir.rules import RuleTable

if TYPE_CHECKING:
    from tilewright.interp.lowering import Lowering

# A handler runs once per op while a function is compiled, and returns the closure that runs per chunk.
Handler = Callable[[Any, "Lowering"], Callable[..., Any]]
H = TypeVar("H", bound=Handler)


class Entry(NamedTuple):
    """A handler; `step` says whether its closure takes the registers or the operand values."""

    handler: Handler
    step: bool


HANDLERS: RuleTable[Entry] = RuleTable("handler in the interpreter")


def _register(op: type[Op] | str, step: bool) -> Callable[[H], H]:
    def register(handler: H) -> H:
        HANDLERS.add(op, Entry(handler, step))
        return handler

    return register


def impl(op: type[Op] | str) -> Callable[[H], H]:
    """Register `handler(op, lowering) -> closure(*operand_values)`, which returns the result, a tuple of results, or
    None for an op without results. Operand values come in the order of `op.operands`.

    A tile value is an array with a leading axis over the blocks of the chunk where `lowering.varies(value)`, and
    without that axis where it does not; floats of 16 bits and tf32 are held as float32, 8- and 4-bit floats as codes.
    """
    return _register(op, step=False)


def impl_step(op: type[Op] | str) -> Callable[[H], H]:
    """Register `handler(op, lowering) -> closure(registers)`, which reads and writes `registers[lowering.slot(v)]`."""
    return _register(op, step=True)


def missing_handlers() -> list[str]:
    """Opcodes of declared ops that the interpreter cannot execute (terminators are part of their parent op)."""
    from tilewright.interp import handlers  # noqa: F401  (fills the table)

    return HANDLERS.missing(OPS.values())
