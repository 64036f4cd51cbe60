"""Changes of layout."""

from __future__ import annotations

from tilewright.tileir.core import Op, Value, attribute, operand, require
from tilewright.tileir.types import Type


class ConvertLayout(Op, opcode="convert_layout", same_elements=True):
    """The same tile, distributed over the threads in another way: the result type's layout says how."""

    src: Value = operand()

    def infer(self) -> tuple[Type, ...]:
        return (self.src.type.erased(),)


class KeepRegisters(Op, opcode="keep_registers", elementwise=True):
    """A tile of which each thread has kept its first `count` registers; it has computed the others again. Both operands
    are the same tile, and whatever is not taken of one need not exist."""

    kept: Value = operand()
    again: Value = operand()
    count: int = attribute()

    def infer(self) -> tuple[Type, ...]:
        kept, again = self.kept.type, self.again.type
        require(kept.erased() == again.erased(), f"keep_registers: {kept} and {again} are not one tile")
        return (kept.erased(),)
