"""How far two executors may be apart in one op on equal operands: the classes of ops that docs/language.md states."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from tilewright.tileir.core import Op
from tilewright.tileir.dtypes import DType
from tilewright.tileir.enums import RoundingMode
from tilewright.tileir.ops import arith, fold, math, matmul, reduce
from tilewright.tileir.rules import RuleTable

Array = Any
Again = Callable[[Sequence[Array]], Array]
"""The op on other operands, in the interpreter."""
Bound = Callable[[Any, DType, Sequence[Array], Array, Again], Array]
"""Of an op, the dtype of a result, the operands, what is right: the difference per element that is allowed."""

BOUNDS: RuleTable[Bound] = RuleTable("bound of a comparison")
"""Ops whose results are not determined to the bit; all others are."""

TWO_UNITS: tuple[type[Op], ...] = (
    math.Exp, math.Exp2, math.Log, math.Log2, math.Sin, math.Cos, math.Tanh, math.Rsqrt, math.Asin, math.Acos,
    math.Atan, math.Log1p, math.Expm1, math.Erf)
FOUR_UNITS: tuple[type[Op], ...] = (
    math.Tan, math.Sinh, math.Cosh, arith.Atan2, arith.Pow, math.Asinh, math.Acosh, math.Atanh, math.Erfc,
    math.Sigmoid)


def allowed(op: Op, dtype: DType, operands: Sequence[Array], want: Array, again: Again) -> Array | None:
    """The difference per element that an op's class allows in a result, None where every bit is determined."""
    approximate = getattr(op, "rounding", None) in (RoundingMode.APPROX, RoundingMode.FULL)
    rule = _units(4) if approximate else BOUNDS.of(op)
    return None if rule is None or not dtype.is_float else rule(op, dtype, operands, want, again)


def _step(values: Array, dtype: DType) -> Array:
    """The distance from a number to the next one of its dtype."""
    import numpy

    finite = numpy.abs(numpy.nan_to_num(values.astype(numpy.float64), posinf=0, neginf=0))
    least = 2.0 ** (2 - (1 << (dtype.exponent - 1)))
    return numpy.ldexp(2.0 ** -dtype.mantissa, numpy.frexp(numpy.maximum(finite, least))[1] - 1)


def _units(number: int) -> Bound:
    """So many units in the last place; both executors may be off, to either side."""

    def bound(op: Any, dtype: DType, operands: Sequence[Array], want: Array, again: Again) -> Array:
        units = 2 * number if dtype.bitwidth == 32 else 8 if dtype.bitwidth == 64 else 1
        return units * _step(want, dtype)
    return bound


def _sum(op: Any, dtype: DType, operands: Sequence[Array], want: Array, again: Again) -> Array:
    """Terms in any order: each addition rounds once, at most by half a unit of the sum of the magnitudes."""
    import numpy

    size = again([numpy.abs(x) for x in operands]).astype(numpy.float64)
    lost = 2.0 ** -13 if getattr(op, "fast_acc", False) else 2.0 ** -dtype.mantissa
    # A tensor core aligns the products to the largest one and cuts off what is below.
    return (_terms(op) + 2) * lost * size + _step(want, dtype)


def _terms(op: Any) -> int:
    if isinstance(op, matmul.Mma | matmul.MmaScaled):
        return int(op.a.type.shape[-1])
    if isinstance(op, reduce.Reduction):
        return prod(op.src.type.shape[axis] for axis in op.axes)
    return int(op.operands[0].type.shape[op.axis])


def _product(op: Any, dtype: DType, operands: Sequence[Array], want: Array, again: Again) -> Array:
    """Factors in any order."""
    return (_terms(op) + 2) * _step(want, dtype)


BOUNDS.update({
    **dict.fromkeys(TWO_UNITS, _units(2)), **dict.fromkeys(FOUR_UNITS, _units(4)), reduce.ReduceProd: _product,
    **dict.fromkeys((reduce.ReduceSum, matmul.Mma, matmul.MmaScaled, fold.Fold), _sum),
})


def same(one: Array, other: Array) -> Array:
    """Per element, whether all bits are equal; one NaN is like another."""
    import numpy

    one, other = numpy.ascontiguousarray(one), numpy.ascontiguousarray(other)
    bits = numpy.dtype(f"u{one.dtype.itemsize}")
    # Not by ==: zeros keep their sign.
    equal = one.view(bits) == other.view(bits)
    if one.dtype.kind in "biu" or equal.all():
        return equal
    with numpy.errstate(invalid="ignore"):
        return equal | (numpy.isnan(one.astype(numpy.float64)) & numpy.isnan(other.astype(numpy.float64)))


def near(got: Array, want: Array, bound: Array | None) -> Array:
    """Per element, whether a result is right within a bound (None: to the bit)."""
    import numpy

    equal = same(got, want)
    if bound is None or equal.all():
        return equal
    with numpy.errstate(invalid="ignore", over="ignore"):
        g, w = got.astype(numpy.float64), want.astype(numpy.float64)
        return equal | (numpy.abs(g - w) <= bound)
