"""What an element-wise op gives for constant operands, in pure Python: the folding half of the reference semantics.

A value is a bool, an int in range, or a float that its dtype can hold. The results are those of the interpreter, bit
for bit; where they could differ (functions that are not correctly rounded, NaNs, whose bits executors choose, division
by zero) the answer is None: do not fold.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tilewright.tileir.analysis import floats
from tilewright.tileir.analysis.convert import Number, bitcast, cast, convert_constant, wrap
from tilewright.tileir.analysis.floats import EXACT_MODES, round_to
from tilewright.tileir.core import Op
from tilewright.tileir.dtypes import DType
from tilewright.tileir.ops import arith, arrays, convert
from tilewright.tileir.ops import math as functions
from tilewright.tileir.rules import RuleTable

__all__ = ["convert_constant", "evaluate", "round_to"]


def evaluate(op: Op, operands: Sequence[Number]) -> Number | None:
    """The result's element for the given elements of the operands (in field order); None to leave the op as it is."""
    rule = _RULES.of(op)
    if rule is None or getattr(op, "ftz", False):
        return None
    if not op.operands[-1].type.dtype.arithmetic and type(op) not in _ANY_FORMAT:
        return None
    result = rule(op, *operands)
    return None if result is None or result != result else result


def _dtype(op: Op) -> DType:
    """The dtype of the last operand: that of all of them, but for the condition of a select."""
    dtype: DType = op.operands[-1].type.dtype
    return dtype


def _arithmetic(on_ints: Callable[[int, int], int] | None, on_floats: Callable[..., float] | None) -> Any:
    """A rule that wraps integers and rounds floats in the op's mode."""

    def rule(op: Any, lhs: Any, rhs: Any) -> Number | None:
        dtype = _dtype(op)
        if dtype.is_int:
            return wrap(on_ints(lhs, rhs), dtype) if on_ints else None
        if on_floats is None or op.rounding not in EXACT_MODES:
            return None
        return on_floats(lhs, rhs, dtype, op.rounding)

    return rule


def _division(on_ints: Callable[[int, int], int]) -> Any:
    """A rule of integer division, which leaves division by zero and the one that overflows alone."""

    def rule(op: Op, lhs: Any, rhs: Any) -> Number | None:
        dtype = _dtype(op)
        if not dtype.is_int or rhs == 0 or (rhs == -1 and lhs == dtype.int_range[0]):
            return None
        return wrap(on_ints(lhs, rhs), dtype)

    return rule


def _divide(op: Any, lhs: float, rhs: float) -> float | None:
    if rhs == 0 or op.rounding not in EXACT_MODES:
        return None
    return floats.divide(lhs, rhs, _dtype(op), op.rounding)


def _floordiv(op: Op, lhs: Any, rhs: Any) -> Number | None:
    if not _dtype(op).is_float:
        return _INT_FLOORDIV(op, lhs, rhs)  # type: ignore[no-any-return]
    return None if rhs == 0 else _integral(math.floor, floats.divide(lhs, rhs, _dtype(op), floats.RN))


def _integral(towards: Callable[[float], int], value: float) -> float:
    """floor, ceil and their like as a float; zeros keep their sign."""
    return math.copysign(float(towards(value)), value) if math.isfinite(value) else value


def _fma(op: Any, a: float, b: float, c: float) -> float | None:
    return floats.fma(a, b, c, _dtype(op), op.rounding) if op.rounding in EXACT_MODES else None


def _pow(op: Any, base: Any, exponent: Any) -> Number | None:
    dtype: DType = op.lhs.type.dtype
    if not dtype.is_int:
        return None
    if exponent < 0:
        return {1: 1, -1: -1 if exponent % 2 else 1}.get(base, None if base == 0 else 0)
    return wrap(pow(int(base), int(exponent), 1 << dtype.bitwidth), dtype)


def _extreme(sign: int) -> Any:
    """min (sign 1) and max (-1): a NaN gives way to a number unless it propagates, and -0.0 is below 0.0."""

    def rule(op: Any, lhs: Any, rhs: Any) -> Number | None:
        if lhs != lhs or rhs != rhs:
            return None if op.propagate_nan else (rhs if lhs != lhs else lhs)
        chosen: Number = min(lhs, rhs, key=lambda v: (sign * v, sign * math.copysign(1, v)))
        return chosen

    return rule


def _shift(op: Op, lhs: int, rhs: int, left: bool) -> int:
    dtype = _dtype(op)
    count = rhs % dtype.bitwidth
    return wrap(lhs << count if left else lhs >> count, dtype)


def _neg(op: Op, value: Any) -> Number | None:
    dtype = _dtype(op)
    if dtype.is_float:
        return -value if dtype.has_sign else None
    return None if dtype.is_bool else wrap(-value, dtype)


def _abs(op: Op, value: Any) -> Number | None:
    dtype = _dtype(op)
    return wrap(abs(value), dtype) if dtype.is_int else abs(value) if dtype.is_float else value


def _sqrt(op: Any, value: float) -> float | None:
    if op.rounding not in EXACT_MODES or value != value or value < 0:
        return None
    return floats.square_root(value, _dtype(op), op.rounding)


def _bitwise(combine: Callable[[Any, Any], Any]) -> Any:
    return lambda op, lhs, rhs: combine(lhs, rhs)


_INT_FLOORDIV = _division(lambda a, b: a // b)

_RULES: RuleTable[Callable[..., Number | None]] = RuleTable("value of constants", {
    arith.Add: _arithmetic(lambda a, b: a + b, floats.add),
    arith.Sub: _arithmetic(lambda a, b: a - b, lambda a, b, dtype, mode: floats.add(a, -b, dtype, mode)),
    arith.Mul: _arithmetic(lambda a, b: a * b, floats.multiply),
    arith.Div: _divide,
    arith.Fma: _fma,
    arith.FloorDiv: _floordiv,
    arith.CeilDiv: _division(lambda a, b: -(-a // b)),
    arith.Mod: _division(lambda a, b: a % b),
    arith.Pow: _pow,
    arith.Min: _extreme(1),
    arith.Max: _extreme(-1),
    arith.And: _bitwise(lambda a, b: a & b),
    arith.Or: _bitwise(lambda a, b: a | b),
    arith.Xor: _bitwise(lambda a, b: a ^ b),
    arith.Shl: lambda op, lhs, rhs: _shift(op, lhs, rhs, True),
    arith.Shr: lambda op, lhs, rhs: _shift(op, lhs, rhs, False),
    arith.Eq: _bitwise(lambda a, b: a == b),
    arith.Ne: _bitwise(lambda a, b: a != b),
    arith.Lt: _bitwise(lambda a, b: a < b),
    arith.Le: _bitwise(lambda a, b: a <= b),
    arith.Gt: _bitwise(lambda a, b: a > b),
    arith.Ge: _bitwise(lambda a, b: a >= b),
    arith.Select: lambda op, cond, lhs, rhs: lhs if cond else rhs,
    functions.Neg: _neg,
    functions.Abs: _abs,
    functions.Not: lambda op, value: not value if isinstance(value, bool) else wrap(~value, _dtype(op)),
    functions.Sqrt: _sqrt,
    functions.Integral: lambda op, value: _integral(op.on_number, value),
    functions.FloatTest: lambda op, value: op.on_number(value),
    functions.Popcount: lambda op, value: (value % (1 << _dtype(op).bitwidth)).bit_count(),
    functions.Clz: lambda op, value: _dtype(op).bitwidth - (value % (1 << _dtype(op).bitwidth)).bit_length(),
    arrays.AssumeDivisible: lambda op, value: value,
    convert.Cast: lambda op, value: cast(value, op.src.type.dtype, op.dtype, op.rounding),
    convert.Bitcast: lambda op, value: bitcast(value, op.src.type.dtype, op.dtype),
})

# Ops that take the formats without arithmetic, too.
_ANY_FORMAT = frozenset(
    {arith.Eq, arith.Ne, arith.Lt, arith.Le, arith.Gt, arith.Ge, arith.Select, convert.Cast, convert.Bitcast,
     *functions.FloatTest.__subclasses__()}
)
