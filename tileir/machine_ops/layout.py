"""Changes of layout."""

from __future__ import annotations

from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Op, Value, attribute, operand, require
from tilewright.tileir.layout import Layout
from tilewright.tileir.layouts.convert import plan_conversion
from tilewright.tileir.ops.arrays import check_tile
from tilewright.tileir.types import Type


class ConvertLayout(Op, opcode="convert_layout", same_elements=True):
    """The same tile in another layout, that of the result type."""

    src: Value = operand()

    @property
    def crosses(self) -> bool:
        """Whether elements move to other threads, through shared memory."""
        return plan_conversion(self.src.type.layout, self.result.type.layout).crosses

    def infer(self) -> tuple[Type, ...]:
        check_tile("convert_layout", self.src)
        return (self.src.type.erased(),)


def converted(b: Builder, value: Value, layout: Layout | None) -> Value:
    """The tile in a layout, its own or another."""
    return value if value.type.layout == layout else b.value(ConvertLayout(src=value)).lay_out(layout)


class KeepRegisters(Op, opcode="keep_registers", elementwise=True):
    """A tile of which each thread keeps the first `count` registers; the others are rematerialised. Both operands are
    the same tile, and whatever is not taken of one need not exist."""

    kept: Value = operand()
    again: Value = operand()
    count: int = attribute()

    def infer(self) -> tuple[Type, ...]:
        check_tile("keep_registers", self.kept)
        kept, again = self.kept.type, self.again.type
        require(kept.erased() == again.erased(), f"keep_registers: {kept} and {again} are not one tile")
        return (kept.erased(),)
