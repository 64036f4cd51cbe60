"""Arithmetic with what many elements share."""

from __future__ import annotations

from tilewright.tileir.core import Op, Value, attribute, operand, require
from tilewright.tileir.dtypes import float32
from tilewright.tileir.ops.arith import same_type
from tilewright.tileir.ops.arrays import check_tile
from tilewright.tileir.types import Type

# Of a divisor, so that neither its reciprocal nor a remainder leaves the normal numbers for dividends of usual sizes.
SMALLEST_DIVISOR, LARGEST_DIVISOR = 2.0**-40, 2.0**40


class DivideBy(Op, opcode="divide_by", elementwise=True):
    """lhs / rhs on float32, rounded to nearest as `div` is. `reciprocal` is 1 / rhs, rounded so too, or NaN where rhs
    is not within 2**-40 to 2**40. `bounded`: where it is a number, `lhs` is finite, and not large."""

    lhs: Value = operand()
    rhs: Value = operand()
    reciprocal: Value = operand()
    bounded: bool = attribute(default=False)

    def infer(self) -> tuple[Type, ...]:
        check_tile("divide_by", self.lhs)
        same_type("divide_by", self.lhs, self.rhs, self.reciprocal)
        require(self.lhs.type.dtype is float32, f"divide_by: expected float32, got {self.lhs.type}")
        return (self.lhs.type.erased(),)
