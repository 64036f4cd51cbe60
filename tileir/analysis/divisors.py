"""Divisions of many elements by one number, and divisors that a sum of floats has made uncertain.

    %s = reduce_sum(src=%x, axes=(1))       // of n >= 64 elements: within n * eps of the sum of their magnitudes
    %m = div(lhs=%s, rhs=%columns)          // as uncertain
    %d = sqrt(src=%m)                       // half as uncertain
    %q = div(lhs=%x, rhs=%d)                // exactly rounded or not, as uncertain as %d

eps is 2**-23, that of float32.
"""

from __future__ import annotations

from math import prod

from tilewright.tileir.analysis.tolerances import SUMMANDS
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.analysis.words import is_uniform
from tilewright.tileir.core import Op, Value
from tilewright.tileir.dtypes import float32
from tilewright.tileir.enums import RoundingMode
from tilewright.tileir.ops import arith, shape
from tilewright.tileir.ops import math as functions
from tilewright.tileir.ops.convert import Cast
from tilewright.tileir.ops.matmul import Mma
from tilewright.tileir.ops.reduce import ReduceSum

ENOUGH = 8
"""Elements for each divisor: a thread then has several of one divisor in most layouts."""

_ONE = (shape.Broadcast, shape.Reshape, shape.Permute, functions.Neg, functions.Abs, functions.Sqrt, functions.Rsqrt)
_TWO = (arith.Mul, arith.Div, arith.Add)


def divides_many(unit: Unit, op: arith.Div) -> bool:
    """Whether a float32 division to nearest divides many elements of a tile by one number, or few in each of many
    iterations."""
    nearest = op.rounding is RoundingMode.RN and not op.ftz and op.lhs.type.dtype is float32
    spread = op.rhs.op
    if not nearest or not isinstance(spread, shape.Broadcast):
        return False
    again = op.lhs.type.size > 1 and any(o.repeats for o in unit.around(op) if o not in unit.around(spread))
    return again or op.lhs.type.size >= ENOUGH * spread.src.type.size


def is_uncertain(value: Value) -> bool:
    """Whether a float is computed from a sum of many, by ops that hand on half of its relative error at least."""
    work, seen = [value], {value}
    while work:
        op: Op | None = work.pop().op
        if isinstance(op, ReduceSum):
            if _is_rounded_much(op):
                return True
        elif isinstance(op, (*_ONE, *_TWO, Cast)):
            for operand in op.operands:
                if operand.type.dtype.is_float and operand not in seen:
                    seen.add(operand)
                    work.append(operand)
    return False


def is_of_products(value: Value) -> bool:
    """Whether each element of a tile is a sum of many products of floats, or a multiple of one: within n * eps of the
    sum of their magnitudes, so that a quotient by any number that is wrong by 4 * eps is that of another such sum.
    Those of integers are exact: the floor of 41 by 41 is 1."""
    op = value.op
    while isinstance(op, (arith.Mul, shape.Reshape, shape.Permute)):
        sources = [v.op for v in op.operands if not is_uniform(v)]
        op = sources[0] if len(sources) == 1 else None
    if not isinstance(op, Mma) or not op.a.type.dtype.is_float or any(map(_is_of_integers, (op.a, op.b))):
        return False
    return bool(op.a.type.shape[-1] >= SUMMANDS)


def _is_of_integers(value: Value) -> bool:
    """Whether floats are integers, by a cast: counts are exact."""
    op = value.op
    while isinstance(op, (shape.Broadcast, shape.Reshape, shape.Permute, Cast)):
        if isinstance(op, Cast) and not op.src.type.dtype.is_float:
            return True
        op = op.src.op
    return False


def _is_rounded_much(op: ReduceSum) -> bool:
    """Whether a sum has many summands, in float32 at most, that are not integers."""
    summands = prod(op.src.type.shape[axis] for axis in op.axes)
    dtype = op.src.type.dtype
    narrow = dtype.is_float and dtype.bitwidth <= float32.bitwidth
    return bool(narrow and summands >= SUMMANDS and not _is_of_integers(op.src))
