"""Structured control flow with carried values. There are no jumps: break, continue and early return become values."""

from __future__ import annotations

from tilewright.tileir.core import Block, Op, Value, body, operand, operands, require
from tilewright.tileir.dtypes import bool_
from tilewright.tileir.types import TileType, Type


def erased_types(values: tuple[Value, ...]) -> tuple[Type, ...]:
    """The types of values without layouts."""
    return tuple(v.type.erased() for v in values)


def require_types(what: str, given: tuple[Type, ...], wanted: tuple[Type, ...]) -> None:
    """Check that values passed to or from a body have the types that are expected there."""
    require(len(given) == len(wanted), f"{what}: {len(given)} values, expected {len(wanted)}")
    for i, (g, w) in enumerate(zip(given, wanted, strict=True)):
        require(g == w, f"{what}: value #{i} has type {g}, expected {w}")


def yielded_types(what: str, block: Block) -> tuple[Type, ...]:
    """The types of the values that a body hands back."""
    require(isinstance(block.terminator, Yield), f"{what} must end with yield(...)")
    return erased_types(block.terminator.values)  # type: ignore[attr-defined]


class For(Op, opcode="for", repeats=True):
    """Counted loop: `for iv in range(lower, upper, step)`, step > 0.

    The body's parameters are the loop variable and the carried values; it ends with `yield` of the next carried
    values. Results are the carried values after the last iteration (`init` if there is none).
    """

    lower: Value = operand()
    upper: Value = operand()
    step: Value = operand()
    init: tuple[Value, ...] = operands()
    loop: Block = body()

    def infer(self) -> tuple[Type, ...]:
        iv = self.lower.type.erased()
        is_index = isinstance(iv, TileType) and not iv.shape and iv.dtype.is_int
        require(is_index, f"for: bounds must be integer scalars, not {iv}")
        require_types("for: bounds", (self.upper.type.erased(), self.step.type.erased()), (iv, iv))
        carried = erased_types(self.init)
        require_types("for: body parameters", erased_types(tuple(self.loop.params)), (iv, *carried))
        require_types("for: yielded values", yielded_types("for: the body", self.loop), carried)
        return carried


class While(Op, opcode="while", repeats=True):
    """`before` computes the condition from the carried values and ends with `condition(cond, values)`.

    While it is true, `after` runs with `values` as its parameters and yields the next carried values (the parameters
    of `before`). When it is false the loop ends and its results are `values`.
    """

    init: tuple[Value, ...] = operands()
    before: Block = body()
    after: Block = body()

    def infer(self) -> tuple[Type, ...]:
        carried = erased_types(self.init)
        require_types("while: parameters of the condition", erased_types(tuple(self.before.params)), carried)
        condition = self.before.terminator
        require(isinstance(condition, Condition), "while: the first body must end with condition(...)")
        passed = erased_types(condition.values)  # type: ignore[attr-defined]
        require_types("while: parameters of the body", erased_types(tuple(self.after.params)), passed)
        require_types("while: yielded values", yielded_types("while: the second body", self.after), carried)
        return passed


class If(Op, opcode="if"):
    """Run one of two blocks; each ends with `yield` of the results."""

    cond: Value = operand()
    then: Block = body()
    orelse: Block = body()

    def infer(self) -> tuple[Type, ...]:
        have = self.cond.type
        require(have.erased() == TileType(bool_), f"if: the condition must be an i1 scalar, not {have}")
        types = yielded_types("if: the first body", self.then)
        require_types("if: values of the else branch", yielded_types("if: the second body", self.orelse), types)
        return types


class Yield(Op, opcode="yield", terminator=True):
    """End of a body: the values it hands back."""

    values: tuple[Value, ...] = operands()

    def check(self) -> None:
        """Nothing: whatever it has fits."""


class Condition(Op, opcode="condition", terminator=True):
    """End of the `before` block of a `while`."""

    cond: Value = operand()
    values: tuple[Value, ...] = operands()

    def check(self) -> None:
        require(self.cond.type.erased() == TileType(bool_), f"condition: must be an i1 scalar, not {self.cond.type}")


class Return(Op, opcode="return", terminator=True):
    """End of a kernel."""

    def check(self) -> None:
        """Nothing: whatever it has fits."""
