"""Changes of layout."""

from __future__ import annotations

from tilewright.tileir.core import Op, Value, operand
from tilewright.tileir.types import Type


class ConvertLayout(Op, opcode="convert_layout"):
    """The same tile, distributed over the threads in another way: the result type's layout says how."""

    src: Value = operand()

    def infer(self) -> tuple[Type, ...]:
        return (self.src.type.erased(),)
