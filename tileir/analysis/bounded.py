"""Quotients whose dividends bound their divisors."""

from __future__ import annotations

from math import prod

from tilewright.tileir.core import Op, Value
from tilewright.tileir.dtypes import float32
from tilewright.tileir.enums import RoundingMode
from tilewright.tileir.ops.arith import Add, Constant, Div, Mul, Select
from tilewright.tileir.ops.math import Abs, Exp, Exp2, Sqrt
from tilewright.tileir.ops.reduce import ReduceSum
from tilewright.tileir.ops.shape import Broadcast, Reshape


def is_bounded(dividend: Value, divisor: Value, gathers: type[Op]) -> bool:
    """Whether a dividend that is large or not finite makes its divisor large, or not finite: a sum of the dividends
    where none is negative, or what is made of a sum of their squares, which are not finite beyond 2**64. `gathers`: an
    op that brings the parts of a sum together."""
    shape, alone, work = divisor.type.shape, True, [divisor]
    while work:
        op = work.pop().op
        if isinstance(op, ReduceSum) and op.src.type.shape == dividend.type.shape:
            kept = tuple(1 if axis in op.axes else n for axis, n in enumerate(dividend.type.shape))
            summed = alone and op.src is dividend and _is_positive(dividend)
            if kept == shape and (summed or _is_square(op.src, dividend)):
                return True
        elif isinstance(op, Reshape) or (isinstance(op, (Broadcast, ReduceSum, gathers)) and prod(shape) == 1):
            work.append(op.operands[0])
        elif isinstance(op, (Sqrt, Add, Mul, Div)):  # what is not finite stays so, as a sum or divided by whatever
            alone = False
            work += op.operands[:1] if isinstance(op, Div) else op.operands
    return False


def _is_square(value: Value, of: Value) -> bool:
    op = value.op
    return isinstance(op, Mul) and op.lhs is op.rhs is of and op.rounding is RoundingMode.RN


def _is_positive(value: Value) -> bool:
    """Whether no element is below zero."""
    op = value.op
    if isinstance(op, (Select, Broadcast, Reshape)):
        return all(_is_positive(v) for v in op.operands if v.type.dtype is float32)
    return isinstance(op, (Exp, Exp2, Abs)) or (isinstance(op, Constant) and op.value >= 0)
