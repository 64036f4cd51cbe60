"""Places where a debugger may stop."""

from __future__ import annotations

from tilewright.tileir.core import Op, Value, attribute, operands, require

HOLE = "_"  # stands in a binding for the next value


class Breakpoint(Op, opcode="breakpoint", io=True):
    """The beginning of a statement, and what the user's names stand for there.

    `bindings` has a text for each name, as Python writes it, with `_` for each run-time part: "acc=_", "p=(_, 3)".
    `values` are these parts, in that order. With `stops`, the statement is a call of `breakpoint()`, which stops.
    """

    values: tuple[Value, ...] = operands()
    bindings: tuple[str, ...] = attribute()
    stops: bool = attribute(default=False)

    def check(self) -> None:
        require(all("=" in text for text in self.bindings), "breakpoint: a binding is written name=value")
