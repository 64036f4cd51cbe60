"""Exact arithmetic on the float formats of the language, in integers: rounding, encoding, decoding.

A finite value is a Python float that the format can hold. A result is formed as an exact ratio of integers and rounded
once, in any mode, so that every format has one implementation and none depends on the host's rounding.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

from tilewright.tileir.dtypes import DType, float4_e2m1fn, float8_e4m3fn, float8_e5m2, float8_e5m3fnu, float8_e8m0fnu
from tilewright.tileir.enums import RoundingMode

RN, RZ, RM, RP, RA = (
    RoundingMode.RN, RoundingMode.RZ, RoundingMode.RM, RoundingMode.RP, RoundingMode.RA,
)
EXACT_MODES = frozenset({RN, RZ, RM, RP, RA})
"""The modes that define every bit of a result; the others choose an implementation."""

# Conversions to these clamp to the largest finite value, infinities too, as the hardware's `satfinite` does.
SATURATING = frozenset({float8_e4m3fn, float8_e5m2, float8_e8m0fnu, float8_e5m3fnu, float4_e2m1fn})


class Format(NamedTuple):
    """The limits of a float format: value = significand * 2 ** (exponent - mantissa)."""

    mantissa: int
    min_exponent: int
    max_exponent: int
    max_significand: int  # at the largest exponent
    bias: int


@functools.cache
def float_format(dtype: DType) -> Format:
    bias = (1 << (dtype.exponent - 1)) - 1
    if dtype is float8_e8m0fnu:  # no zero, no subnormals; the exponent of all ones is NaN
        return Format(0, -bias, bias, 1, bias)
    largest = (1 << (dtype.mantissa + 1)) - 1
    if dtype.has_inf:
        return Format(dtype.mantissa, 1 - bias, bias, largest, bias)
    # The largest exponent holds numbers, too; all ones is NaN, but for e2m1, which has none.
    nan = dtype is not float4_e2m1fn
    return Format(dtype.mantissa, 1 - bias, bias + 1, largest - nan, bias)


def largest(dtype: DType) -> float:
    """The largest finite value."""
    form = float_format(dtype)
    return math.ldexp(form.max_significand, form.max_exponent - form.mantissa)


def round_ratio(numerator: int, denominator: int, dtype: DType, mode: RoundingMode = RN) -> float:
    """numerator / denominator (denominator > 0, numerator not 0) rounded once to the format."""
    form = float_format(dtype)
    negative, numerator = numerator < 0, abs(numerator)
    exponent = numerator.bit_length() - denominator.bit_length()
    if (numerator << max(0, -exponent)) < (denominator << max(0, exponent)):
        exponent -= 1
    unit = max(exponent, form.min_exponent) - form.mantissa  # the last place, as a power of two
    divisor = denominator << max(0, unit)
    significand, rest = divmod(numerator << max(0, -unit), divisor)
    significand += _rounds_up(significand, rest, divisor, negative, mode)
    highest = form.max_exponent - form.mantissa
    if unit > highest or (unit == highest and significand > form.max_significand):
        return _overflow(negative, dtype, mode)
    if dtype is float8_e8m0fnu:
        significand = max(significand, 1)
    result = math.ldexp(significand, unit)
    return -result if negative else result


def _rounds_up(significand: int, rest: int, divisor: int, negative: bool, mode: RoundingMode) -> bool:
    """Whether the magnitude goes to the next one."""
    if mode is RN:
        return 2 * rest > divisor or (2 * rest == divisor and significand % 2 == 1)
    if mode is RA:
        return 2 * rest >= divisor
    return rest > 0 and mode is (RM if negative else RP)


def _overflow(negative: bool, dtype: DType, mode: RoundingMode) -> float:
    to_infinity = mode in (RN, RA, RM if negative else RP) and dtype not in SATURATING
    result = math.inf if to_infinity else largest(dtype)
    return -result if negative else result


def round_to(value: float, dtype: DType, mode: RoundingMode = RN) -> float:
    """A float rounded to the format. Saturating formats clamp infinities; NaN in e2m1, which has none, is its maximum.

    Negative values into an unsigned format clamp to its smallest value.
    """
    if value != value:
        return largest(dtype) if dtype is float4_e2m1fn else value
    if not dtype.has_sign and (value < 0 or value == 0):
        return math.ldexp(1.0, -127) if dtype is float8_e8m0fnu else 0.0
    if value == 0:
        return value
    if math.isinf(value):
        return math.copysign(largest(dtype), value) if dtype in SATURATING else value
    return round_ratio(*value.as_integer_ratio(), dtype, mode)


def holds(value: float, dtype: DType) -> bool:
    """Whether the format has the value."""
    if value != value:
        return dtype is not float4_e2m1fn
    return dtype.has_inf if math.isinf(value) else round_to(value, dtype) == value


def encode(value: float, dtype: DType) -> int | None:
    """The bits of a value that the format holds; None for a NaN, whose bits the value does not tell."""
    form = float_format(dtype)
    sign = (math.copysign(1.0, value) < 0) << (dtype.bitwidth - 1)
    if value != value:
        return None
    if math.isinf(value):
        return sign | ((1 << dtype.exponent) - 1) << form.mantissa
    if value == 0:
        return sign
    exponent = max(math.frexp(value)[1] - 1, form.min_exponent)
    significand = int(math.ldexp(abs(value), form.mantissa - exponent))
    if dtype is float8_e8m0fnu:
        return exponent + form.bias
    normal = significand >> form.mantissa  # 0 for a subnormal
    field = exponent + form.bias if normal else 0
    return sign | field << form.mantissa | significand & ((1 << form.mantissa) - 1)


def decode(bits: int, dtype: DType) -> float:
    """The value of the low `dtype.bitwidth` bits."""
    form = float_format(dtype)
    if dtype is float8_e8m0fnu:
        return math.nan if bits == 255 else math.ldexp(1.0, bits - form.bias)
    significand = bits & ((1 << form.mantissa) - 1)
    field = bits >> form.mantissa & ((1 << dtype.exponent) - 1)
    negative = dtype.has_sign and bits >> (dtype.bitwidth - 1) & 1
    if dtype.has_inf and field == (1 << dtype.exponent) - 1:
        return math.nan if significand else -math.inf if negative else math.inf
    if field:
        significand |= 1 << form.mantissa
    exponent = max(field, 1) - form.bias
    if exponent == form.max_exponent and significand > form.max_significand:
        return math.nan
    result = math.ldexp(significand, exponent - form.mantissa)
    return -result if negative else result


def add(a: float, b: float, dtype: DType, mode: RoundingMode) -> float:
    if not (math.isfinite(a) and math.isfinite(b)):
        return a + b
    return _sum(a.as_integer_ratio(), b.as_integer_ratio(), (a, b), dtype, mode)


def multiply(a: float, b: float, dtype: DType, mode: RoundingMode) -> float:
    if not (math.isfinite(a) and math.isfinite(b)) or a == 0 or b == 0:
        return a * b
    (n, d), (m, e) = a.as_integer_ratio(), b.as_integer_ratio()
    return round_ratio(n * m, d * e, dtype, mode)


def divide(a: float, b: float, dtype: DType, mode: RoundingMode) -> float:
    """a / b; b is not 0."""
    if not (math.isfinite(a) and math.isfinite(b)) or a == 0:
        return a / b
    (n, d), (m, e) = a.as_integer_ratio(), b.as_integer_ratio()
    sign = -1 if m < 0 else 1
    return round_ratio(sign * n * e, d * abs(m), dtype, mode)


def fma(a: float, b: float, c: float, dtype: DType, mode: RoundingMode) -> float:
    """a * b + c, rounded once."""
    if not (math.isfinite(a) and math.isfinite(b)):
        return a * b + c
    if not math.isfinite(c):
        return c
    (n, d), (m, e) = a.as_integer_ratio(), b.as_integer_ratio()
    product_sign = math.copysign(1.0, a) * math.copysign(1.0, b)
    return _sum((n * m, d * e), c.as_integer_ratio(), (product_sign, c), dtype, mode)


def _sum(
    a: tuple[int, int], b: tuple[int, int], signs: tuple[float, float], dtype: DType, mode: RoundingMode
) -> float:
    """The sum of two ratios; `signs` are numbers of their signs, which count where the sum is zero."""
    numerator = a[0] * b[1] + b[0] * a[1]
    if numerator:
        return round_ratio(numerator, a[1] * b[1], dtype, mode)
    negative = [math.copysign(1.0, s) < 0 for s in signs]
    if a[0] == 0 and negative[0] == negative[1]:
        return -0.0 if negative[0] else 0.0
    return -0.0 if mode is RM else 0.0  # opposite zeros, and x - x


def square_root(a: float, dtype: DType, mode: RoundingMode) -> float:
    """sqrt(a); a is not negative (-0.0 gives -0.0)."""
    if a == 0 or math.isinf(a):
        return a
    numerator, denominator = a.as_integer_ratio()
    # The root of a ratio times 4**shift, floored, with one sticky bit below it, rounds as the exact root does.
    shift = dtype.mantissa + 4 + denominator.bit_length()
    if denominator.bit_length() % 2 == 0:  # denominators are powers of two: make the exponent even
        numerator, denominator = 2 * numerator, 2 * denominator
    root = math.isqrt(numerator << 2 * shift)
    sticky = root * root != numerator << 2 * shift
    return round_ratio(2 * root + sticky, math.isqrt(denominator) << (shift + 1), dtype, mode)
