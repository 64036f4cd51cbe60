"""Rules of canonicalise for element-wise ops. Each holds bit for bit in every dtype that it applies to.

What floats allow: x * 1, x / 1 and x / 2^k as a product are exact; x + -0.0 and x - 0.0 are x unless rounding down
makes -0.0 of +0.0; x + 0.0, x * 0 and x - x are not identities (-0.0, NaN, infinities).
"""

from __future__ import annotations

import math
from typing import Any

from tilewright.tileir.analysis.convert import exact_cast
from tilewright.tileir.analysis.floats import EXACT_MODES, float_format
from tilewright.tileir.core import Op, Value
from tilewright.tileir.enums import RoundingMode
from tilewright.tileir.ops import arith, convert, shape
from tilewright.tileir.ops import math as functions
from tilewright.tileir.rewrite import Rewriter, Rule, constant_value

Replacement = Value | None


def _is(value: Value, number: int | float) -> bool:
    """Whether the value is this constant; 0.0 and -0.0 differ."""
    have = constant_value(value)
    return have is not None and have == number and math.copysign(1, have) == math.copysign(1, number)


def _constant_right(op: Any) -> None:
    """Put the constant of a commutative op on the right."""
    if constant_value(op.lhs) is not None and constant_value(op.rhs) is None:
        op.lhs, op.rhs = op.rhs, op.lhs


def _zero_like(op: Any, rewriter: Rewriter) -> Value:
    return rewriter.constant(0, op.lhs.type.erased())


def _reassociated(op: Any, rewriter: Rewriter) -> Replacement:
    """(x o c) o d = x o (c o d) for integers."""
    inner, outer = op.lhs.op, constant_value(op.rhs)
    if outer is None or type(inner) is not type(op) or constant_value(inner.rhs) is None:
        return None
    constant = rewriter.offer(type(op)(lhs=inner.rhs, rhs=op.rhs))
    return rewriter.offer(type(op)(lhs=inner.lhs, rhs=constant))


def _add(op: arith.Add, rewriter: Rewriter) -> Replacement:
    _constant_right(op)
    if not op.lhs.type.dtype.is_float:
        return op.lhs if _is(op.rhs, 0) else _reassociated(op, rewriter)
    if _is(op.rhs, -0.0) and op.rounding is not RoundingMode.RM and not op.ftz:
        return op.lhs
    return None


def _sub(op: arith.Sub, rewriter: Rewriter) -> Replacement:
    if not op.lhs.type.dtype.is_float:
        if _is(op.rhs, 0):
            return op.lhs
        if op.lhs is op.rhs:
            return _zero_like(op, rewriter)
        if constant_value(op.rhs) is not None:
            return rewriter.offer(arith.Add(lhs=op.lhs, rhs=rewriter.offer(functions.Neg(src=op.rhs))))
        return None
    if _is(op.rhs, 0.0) and op.rounding is not RoundingMode.RM and not op.ftz:
        return op.lhs
    return None


def _mul(op: arith.Mul, rewriter: Rewriter) -> Replacement:
    _constant_right(op)
    if op.lhs.type.dtype.is_float:
        return op.lhs if _is(op.rhs, 1.0) and not op.ftz else None
    if _is(op.rhs, 1):
        return op.lhs
    return op.rhs if _is(op.rhs, 0) else _reassociated(op, rewriter)


def _div(op: arith.Div, rewriter: Rewriter) -> Replacement:
    divisor = constant_value(op.rhs)
    if divisor is None or op.ftz or op.rounding not in EXACT_MODES:
        return None
    if divisor == 1.0:
        return op.lhs
    # Dividing by a power of two and multiplying by its reciprocal round the same exact value.
    mantissa, exponent = math.frexp(divisor)
    form = float_format(op.lhs.type.dtype)
    if abs(mantissa) != 0.5 or not form.min_exponent <= 1 - exponent <= form.max_exponent:
        return None
    reciprocal = rewriter.constant(math.ldexp(2 * mantissa, 1 - exponent), op.rhs.type.erased())
    return rewriter.offer(arith.Mul(lhs=op.lhs, rhs=reciprocal, rounding=op.rounding))


def _quotient(op: Any, rewriter: Rewriter) -> Replacement:
    return op.lhs if not op.lhs.type.dtype.is_float and _is(op.rhs, 1) else None


def _mod(op: arith.Mod, rewriter: Rewriter) -> Replacement:
    return _zero_like(op, rewriter) if not op.lhs.type.dtype.is_float and _is(op.rhs, 1) else None


def _extreme(op: Any, rewriter: Rewriter) -> Replacement:
    _constant_right(op)
    return op.lhs if op.lhs is op.rhs and not op.ftz else None


def _all_ones(value: Value) -> bool:
    dtype = value.type.dtype
    return _is(value, -1 if dtype.is_signed else dtype.int_range[1])


def _and(op: arith.And, rewriter: Rewriter) -> Replacement:
    _constant_right(op)
    if op.lhs is op.rhs or _all_ones(op.rhs):
        return op.lhs
    return op.rhs if _is(op.rhs, 0) else None


def _or(op: arith.Or, rewriter: Rewriter) -> Replacement:
    _constant_right(op)
    if op.lhs is op.rhs or _is(op.rhs, 0):
        return op.lhs
    return op.rhs if _all_ones(op.rhs) else None


def _xor(op: arith.Xor, rewriter: Rewriter) -> Replacement:
    _constant_right(op)
    if _is(op.rhs, 0):
        return op.lhs
    if op.lhs is op.rhs:
        return rewriter.constant(False if op.lhs.type.dtype.is_bool else 0, op.lhs.type.erased())
    return rewriter.offer(functions.Not(src=op.lhs)) if _all_ones(op.rhs) else None


def _shift(op: Any, rewriter: Rewriter) -> Replacement:
    return op.lhs if _is(op.rhs, 0) else None


# A comparison with its sides exchanged, and its opposite (for operands without NaN).
_MIRRORED: dict[type[Op], type[arith.Compare]] = {
    arith.Lt: arith.Gt, arith.Gt: arith.Lt, arith.Le: arith.Ge, arith.Ge: arith.Le,
    arith.Eq: arith.Eq, arith.Ne: arith.Ne,
}
_OPPOSITE: dict[type[Op], type[arith.Compare]] = {
    arith.Lt: arith.Ge, arith.Ge: arith.Lt, arith.Gt: arith.Le, arith.Le: arith.Gt,
    arith.Eq: arith.Ne, arith.Ne: arith.Eq,
}
_TRUE_OF_EQUALS = (arith.Eq, arith.Le, arith.Ge)


def _compare(op: Any, rewriter: Rewriter) -> Replacement:
    if constant_value(op.lhs) is not None and constant_value(op.rhs) is None:
        return rewriter.offer(_MIRRORED[type(op)](lhs=op.rhs, rhs=op.lhs))
    dtype = op.lhs.type.dtype
    if op.lhs is op.rhs and not dtype.is_float:
        return rewriter.constant(isinstance(op, _TRUE_OF_EQUALS), op.result.type.erased())
    if dtype.is_bool and isinstance(op, arith.Eq | arith.Ne) and constant_value(op.rhs) is not None:
        same = constant_value(op.rhs) is isinstance(op, arith.Eq)
        return op.lhs if same else rewriter.offer(functions.Not(src=op.lhs))
    return None


def _select(op: arith.Select, rewriter: Rewriter) -> Replacement:
    if op.lhs is op.rhs:
        return op.lhs
    chosen = constant_value(op.cond)
    if chosen is not None:
        return op.lhs if chosen else op.rhs
    if isinstance(op.cond.op, functions.Not):
        return rewriter.offer(arith.Select(cond=op.cond.op.src, lhs=op.rhs, rhs=op.lhs))
    if op.lhs.type.dtype.is_bool and _is(op.lhs, 1) and _is(op.rhs, 0):
        return op.cond
    if op.lhs.type.dtype.is_bool and _is(op.lhs, 0) and _is(op.rhs, 1):
        return rewriter.offer(functions.Not(src=op.cond))
    return None


def _neg(op: functions.Neg, rewriter: Rewriter) -> Replacement:
    return op.src.op.src if isinstance(op.src.op, functions.Neg) else None


def _abs(op: functions.Abs, rewriter: Rewriter) -> Replacement:
    inner = op.src.op
    if isinstance(inner, functions.Abs):
        return op.src
    if not isinstance(inner, functions.Neg) or op.src.type.dtype.kind == "uint":
        return None  # -x of an unsigned x is another number, not its opposite
    return rewriter.offer(functions.Abs(src=inner.src))


def _not(op: functions.Not, rewriter: Rewriter) -> Replacement:
    inner = op.src.op
    if isinstance(inner, functions.Not):
        return inner.src
    if isinstance(inner, arith.Compare):
        with_nan = inner.lhs.type.dtype.is_float and not isinstance(inner, arith.Eq | arith.Ne)
        if not with_nan:
            return rewriter.offer(_OPPOSITE[type(inner)](lhs=inner.lhs, rhs=inner.rhs))
    return None


def _cast(op: convert.Cast, rewriter: Rewriter) -> Replacement:
    if op.src.type.dtype is op.dtype:
        return op.src
    inner = op.src.op
    if isinstance(inner, shape.Reshape) and op.dtype.is_float and op.dtype.bitwidth < op.src.type.dtype.bitwidth:
        # Rounded before it has another shape, a tile is stored by TMA, from half of the bytes of shared memory.
        rounded = rewriter.offer(convert.Cast(src=inner.src, dtype=op.dtype, rounding=op.rounding))
        return rewriter.offer(shape.Reshape(src=rounded, shape=inner.shape))
    if not isinstance(inner, convert.Cast):
        return None
    first, middle = inner.src.type.dtype, inner.dtype
    # The first step keeps every value, and the second means the same from either kind of number.
    if exact_cast(first, middle) and (first.is_float == middle.is_float or op.dtype.is_float or op.dtype.is_bool):
        return rewriter.offer(convert.Cast(src=inner.src, dtype=op.dtype, rounding=op.rounding))
    return None


def _bitcast(op: convert.Bitcast, rewriter: Rewriter) -> Replacement:
    if op.src.type.dtype is op.dtype:
        return op.src
    inner = op.src.op
    if not isinstance(inner, convert.Bitcast):
        return None
    return rewriter.offer(convert.Bitcast(src=inner.src, dtype=op.dtype))


RULES: dict[type[Op], Rule] = {
    arith.Add: _add, arith.Sub: _sub, arith.Mul: _mul, arith.Div: _div,
    arith.FloorDiv: _quotient, arith.CeilDiv: _quotient, arith.Mod: _mod,
    arith.Min: _extreme, arith.Max: _extreme, arith.And: _and, arith.Or: _or, arith.Xor: _xor,
    arith.Shl: _shift, arith.Shr: _shift, arith.Select: _select,
    **{cls: _compare for cls in _MIRRORED},
    functions.Neg: _neg, functions.Abs: _abs, functions.Not: _not,
    convert.Cast: _cast, convert.Bitcast: _bitcast,
}
