"""Constants and element-wise arithmetic.

Narrow floats are held as float32: one float32 operation and one rounding give the correctly rounded result, because
float32 has more than twice their bits plus two. Below float32's normal range, too: products of bfloat16 are exact there
or less than half of its least number, and no quotient is within 2**-14 of a tie.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tilewright.interp.formats import as_float, constant, format_of
from tilewright.interp.lowering import Lowering, impl
from tilewright.tileir import dtypes as dt
from tilewright.tileir import rounding
from tilewright.tileir.core import Value
from tilewright.tileir.dtypes import DType
from tilewright.tileir.enums import RoundingMode
from tilewright.tileir.ops import arith

Array = Any
Fn = Callable[..., Any]
_NEAREST = (RoundingMode.RN, RoundingMode.FULL, RoundingMode.APPROX)
_TINY = np.float32(2.0**-126)


@impl(arith.Constant)
def constant_(op: arith.Constant, low: Lowering) -> Fn:
    value = constant(op.value, op.type.dtype)
    tile = np.broadcast_to(value, op.type.shape) if op.type.shape else value
    return lambda: tile


def flush(x: Array) -> Array:
    """float32 subnormals to zeros of their sign."""
    return np.where(np.abs(x) < _TINY, np.copysign(np.float32(0), x), x)


def with_ftz(fn: Fn) -> Fn:
    """fn with subnormal operands and results flushed."""
    return lambda *args: flush(fn(*map(flush, args)))


def float_fn(dtype: DType, mode: RoundingMode, ftz: bool, nearest: Fn, exact: Fn | None) -> Fn:
    """A float operation in a dtype and rounding mode.

    `nearest` is the NumPy ufunc; `exact` gives the float64 result and the sign of its error (None: only nearest).
    """
    if mode in _NEAREST:
        fn = _nearest_fn(dtype, nearest)
    else:
        assert exact is not None
        fn = _directed_fn(dtype, mode, exact)
    return with_ftz(fn) if ftz else fn


def _nearest_fn(dtype: DType, ufunc: Fn) -> Fn:
    fmt = format_of(dtype)
    if not fmt.narrow:
        return ufunc
    rnd = fmt.round
    return lambda *args: rnd(ufunc(*args))


def _directed_fn(dtype: DType, mode: RoundingMode, exact: Fn) -> Fn:
    def directed(*args: Array) -> Array:
        s, error = exact(*(np.asarray(a, np.float64) for a in args))
        return rounding.round_result(s, error, dtype, mode)
    return directed


def sum_error(a: Array, b: Array, mode: RoundingMode) -> tuple[Array, Array]:
    """float64 a + b with the zero of a rounding mode, and the sign of its error."""
    s, error = rounding.add_error(a, b)
    return rounding.with_zero(s, a, b, mode), error


@impl(arith.Add)
def add(op: arith.Add, low: Lowering) -> Fn:
    mode = op.rounding
    return _rounded(op, np.add, lambda a, b: sum_error(a, b, mode))


@impl(arith.Sub)
def sub(op: arith.Sub, low: Lowering) -> Fn:
    mode = op.rounding
    return _rounded(op, np.subtract, lambda a, b: sum_error(a, -b, mode))


@impl(arith.Mul)
def mul(op: arith.Mul, low: Lowering) -> Fn:
    return _rounded(op, np.multiply, rounding.mul_error)


@impl(arith.Div)
def div(op: arith.Div, low: Lowering) -> Fn:
    return _rounded(op, np.divide, rounding.div_error)


def _rounded(op: Any, ufunc: Fn, exact: Fn) -> Fn:
    dtype = op.lhs.type.dtype
    return float_fn(dtype, op.rounding, op.ftz, ufunc, exact) if dtype.is_float else ufunc


@impl(arith.Fma)
def fma(op: arith.Fma, low: Lowering) -> Fn:
    dtype, mode = op.a.type.dtype, op.rounding
    fn: Fn
    if mode in _NEAREST:
        mode = RoundingMode.RN
    if dtype is dt.float64:
        fn = lambda a, b, c: rounding.fma_float64(a, b, c, mode)  # noqa: E731
    elif dtype is dt.float32 and mode is RoundingMode.RN:
        fn = rounding.fma_float32
    else:
        fn = lambda a, b, c: rounding.fma_narrow(a, b, c, dtype, mode)  # noqa: E731
    return with_ftz(fn) if op.ftz else fn


# --- division of integers --------------------------------------------------------------------------------------------


def power_of_two(value: Value) -> int | None:
    """The exponent of a constant operand that is a power of two."""
    op = value.op
    while op is not None and op.opcode == "broadcast":
        op = op.operands[0].op
    if not isinstance(op, arith.Constant) or isinstance(op.value, bool | float):
        return None
    n = op.value
    return n.bit_length() - 1 if n > 0 and n & (n - 1) == 0 else None


@impl(arith.FloorDiv)
def floordiv(op: arith.FloorDiv, low: Lowering) -> Fn:
    dtype = op.lhs.type.dtype
    if dtype.is_float:
        divide = float_fn(dtype, RoundingMode.RN, False, np.divide, rounding.div_error)
        return lambda a, b: np.floor(divide(a, b))
    shift = power_of_two(op.rhs)
    if shift is not None:
        amount = format_of(dtype).held.type(shift)
        return lambda a, b: a >> amount
    return np.floor_divide


@impl(arith.CeilDiv)
def cdiv(op: arith.CeilDiv, low: Lowering) -> Fn:
    if op.lhs.type.dtype.is_float:
        divide = float_fn(op.lhs.type.dtype, RoundingMode.RN, False, np.divide, rounding.div_error)
        return lambda a, b: np.ceil(divide(a, b))

    def ceil_divide(a: Array, b: Array) -> Array:
        quotient = np.floor_divide(a, b)
        return quotient + (quotient * b != a)
    return ceil_divide


@impl(arith.Mod)
def mod(op: arith.Mod, low: Lowering) -> Fn:
    dtype = op.lhs.type.dtype
    if dtype.is_float:
        rnd = format_of(dtype).round
        return lambda a, b: rnd(np.remainder(a, b))
    shift = power_of_two(op.rhs)
    if shift is not None:
        mask = format_of(dtype).held.type((1 << shift) - 1)
        return lambda a, b: a & mask
    return np.remainder


@impl(arith.Pow)
def pow_(op: arith.Pow, low: Lowering) -> Fn:
    dtype = op.lhs.type.dtype
    fmt = format_of(dtype)
    if op.rhs.type.dtype.is_float:
        if dtype is dt.float64:
            return _power
        return lambda a, b: rounding.nearest(_power(np.asarray(a, np.float64), b), dtype)
    if dtype.is_float:
        times = float_fn(dtype, RoundingMode.RN, False, np.multiply, rounding.mul_error)
        divide = float_fn(dtype, RoundingMode.RN, False, np.divide, rounding.div_error)
        one = fmt.held.type(1)

        def float_power(a: Array, n: Array) -> Array:
            power = _repeat(times, a, _magnitude(n), one)
            return np.where(np.asarray(n) < 0, divide(one, power), power)
        return float_power

    def int_power(a: Array, n: Array) -> Array:
        power = _repeat(np.multiply, a, _magnitude(n), fmt.held.type(1))
        odd = (np.asarray(n) & 1) != 0
        unit = np.where(a == 1, 1, np.where((a + 1 == 0) & dtype.is_signed, np.where(odd, -1, 1), 0))
        return np.where(np.asarray(n) < 0, unit.astype(fmt.held), power)
    return int_power


def _power(a: Array, b: Array) -> Array:
    """a ** b of doubles. NumPy takes the square root where every exponent is one 0.5, and the roots of -0.0 and of
    -infinity are not their powers."""
    root = (np.asarray(b) == 0.5) & ((a == 0) | (a == -np.inf))
    return np.power(np.where(root, np.abs(a), a), b)


def _magnitude(n: Array) -> Array:
    n = np.asarray(n)
    return np.abs(n.astype(np.int64)).astype(np.uint64) if n.dtype.kind == "i" else n.astype(np.uint64)


def _repeat(times: Fn, base: Array, n: Array, one: Array) -> Array:
    """base ** n by squaring, lowest bit of n first; each product is rounded."""
    base = np.asarray(base)
    result = np.broadcast_to(np.asarray(one), np.broadcast_shapes(base.shape, n.shape))
    while n.any():
        result = np.where((n & np.uint64(1)) != 0, times(result, base), result)
        n = n >> np.uint64(1)
        base = times(base, base)
    return result


@impl(arith.Atan2)
def atan2(op: arith.Atan2, low: Lowering) -> Fn:
    dtype = op.lhs.type.dtype
    if dtype is dt.float64:
        return np.arctan2
    return lambda a, b: rounding.nearest(np.arctan2(np.asarray(a, np.float64), b), dtype)


# --- minimum and maximum ---------------------------------------------------------------------------------------------


@impl(arith.Min)
def min_(op: arith.Min, low: Lowering) -> Fn:
    return _extreme(op, np.minimum, np.fmin, np.bitwise_or)


@impl(arith.Max)
def max_(op: arith.Max, low: Lowering) -> Fn:
    return _extreme(op, np.maximum, np.fmax, np.bitwise_and)


def _extreme(op: Any, propagating: Fn, skipping: Fn, zero_sign: Fn) -> Fn:
    """`zero_sign` combines the bits of equal operands, which differ at most in the sign of a zero."""
    dtype = op.lhs.type.dtype
    if not dtype.is_float:
        return propagating
    ufunc = propagating if op.propagate_nan else skipping
    bits = np.uint64 if dtype is dt.float64 else np.uint32

    def extreme(a: Array, b: Array) -> Array:
        out = ufunc(a, b)
        zero = out == 0
        if np.any(zero):
            a, b = np.asarray(a), np.asarray(b)
            same = zero_sign(a.view(bits), b.view(bits)).view(a.dtype)
            out = np.where(zero & (a == b), same, out)
        return out
    return with_ftz(extreme) if op.ftz else extreme


# --- bits, comparisons, selection ------------------------------------------------------------------------------------


@impl(arith.And)
def and_(op: arith.And, low: Lowering) -> Fn:
    return np.bitwise_and


@impl(arith.Or)
def or_(op: arith.Or, low: Lowering) -> Fn:
    return np.bitwise_or


@impl(arith.Xor)
def xor(op: arith.Xor, low: Lowering) -> Fn:
    return np.bitwise_xor


def _shift(op: Any, ufunc: Fn) -> Fn:
    dtype = op.lhs.type.dtype
    mask = format_of(dtype).held.type(dtype.bitwidth - 1)
    return lambda a, b: ufunc(a, b & mask)


@impl(arith.Shl)
def shl(op: arith.Shl, low: Lowering) -> Fn:
    return _shift(op, np.left_shift)


@impl(arith.Shr)
def shr(op: arith.Shr, low: Lowering) -> Fn:
    return _shift(op, np.right_shift)


_COMPARE: tuple[tuple[Any, Fn], ...] = (
    (arith.Eq, np.equal), (arith.Ne, np.not_equal), (arith.Lt, np.less), (arith.Le, np.less_equal),
    (arith.Gt, np.greater), (arith.Ge, np.greater_equal),
)


def _compare(ufunc: Fn) -> Callable[[Any, Lowering], Fn]:
    def compare(op: arith.Compare, low: Lowering) -> Fn:
        dtype = op.lhs.type.dtype
        if format_of(dtype).held != np.uint8 or not dtype.is_float:
            return ufunc
        return lambda a, b: ufunc(as_float(a, dtype), as_float(b, dtype))
    return compare


for _op, _ufunc in _COMPARE:
    impl(_op)(_compare(_ufunc))


@impl(arith.Select)
def select(op: arith.Select, low: Lowering) -> Fn:
    return np.where
