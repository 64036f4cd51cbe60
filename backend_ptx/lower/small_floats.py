"""Eight- and four-bit floats by integer arithmetic, for formats that the target has no conversions of.

Reading: the code's bits, moved to where a float32 has them, times a power of two that mends the exponent's bias; exact.
Making: a float32's bits, rounded at the format's last mantissa bit by an integer addition; below the smallest normal
number by adding a float whose last bit is the format's smallest step. Values beyond the largest saturate.
"""

from __future__ import annotations

import math

from tilewright.backend_ptx.llvm.builder import Builder, Val
from tilewright.tileir.analysis import floats
from tilewright.tileir.dtypes import DType, float8_e8m0fnu
from tilewright.tileir.enums import RoundingMode

_F32_MANTISSA, _F32_BIAS = 23, 127


def _every(dtype: DType) -> int:
    """All bits of a code but the sign: a NaN, but for four-bit floats, which have none, the largest value."""
    return (1 << dtype.exponent + dtype.mantissa) - 1


def decode(b: Builder, dtype: DType, code: Val) -> Val:
    """Codes (i8) as float32."""
    assert not dtype.has_inf, dtype
    bits = b.cast("zext", code, "i32")
    magnitude = b.and_(bits, _every(dtype))
    if dtype is float8_e8m0fnu:  # powers of two: the exponent field of a float32, whose subnormal number is code 0
        value = b.select(b.icmp("eq", magnitude, 0), b.like(bits, 1 << 22), b.shl(magnitude, _F32_MANTISSA))
        number = b.bitcast(value, "float")
    else:
        moved = b.bitcast(b.shl(magnitude, _F32_MANTISSA - dtype.mantissa), "float")
        number = b.fmul(moved, math.ldexp(1.0, _F32_BIAS - floats.float_format(dtype).bias))
    if dtype.bitwidth != 4:
        number = b.select(b.icmp("eq", magnitude, _every(dtype)), b.like(number, math.nan), number)
    if not dtype.has_sign:
        return number
    width = dtype.exponent + dtype.mantissa
    sign = b.shl(b.and_(bits, 1 << width), 31 - width)
    return b.bitcast(b.or_(b.bitcast(number, "i32"), sign), "float")


def encode(b: Builder, dtype: DType, value: Val, rounding: RoundingMode) -> Val:
    """Codes (i8) of float32 values, which are exact or rounded to odd."""
    bits = b.bitcast(value, "i32")
    magnitude = b.and_(bits, 0x7FFFFFFF)
    code = _powers(b, magnitude, rounding) if dtype is float8_e8m0fnu else _nearest(b, dtype, magnitude)
    largest = floats.encode(floats.largest(dtype), dtype)
    assert largest is not None, dtype
    code = b.intrinsic("llvm.umin", [code, b.like(code, largest)])
    invalid = b.icmp("ugt", magnitude, 0x7F800000)
    width = dtype.exponent + dtype.mantissa
    if dtype.has_sign:
        code = b.or_(code, b.and_(b.lshr(bits, 31 - width), 1 << width))
    else:  # no code stands for a negative number
        invalid = b.or_(invalid, b.fcmp("olt", value, 0.0))
    return b.cast("trunc", b.select(invalid, b.like(code, _every(dtype)), code), "i8")


def _nearest(b: Builder, dtype: DType, magnitude: Val) -> Val:
    """Codes to nearest even, without a sign."""
    drop, bias = _F32_MANTISSA - dtype.mantissa, floats.float_format(dtype).bias
    even = b.and_(b.lshr(magnitude, drop), 1)
    rounded = b.lshr(b.add(b.add(magnitude, (1 << drop - 1) - 1), even), drop)
    normal = b.sub(rounded, _F32_BIAS - bias << dtype.mantissa)
    smallest = 1 - bias  # exponent of the smallest normal number
    step = math.ldexp(1.0, smallest - dtype.mantissa + _F32_MANTISSA)
    step_bits = (smallest - dtype.mantissa + _F32_MANTISSA + _F32_BIAS) << _F32_MANTISSA
    sum_ = b.fadd(b.bitcast(magnitude, "float"), step)
    subnormal = b.sub(b.bitcast(sum_, "i32"), step_bits)
    return b.select(b.icmp("ult", magnitude, smallest + _F32_BIAS << _F32_MANTISSA), subnormal, normal)


def _powers(b: Builder, magnitude: Val, rounding: RoundingMode) -> Val:
    """Codes of e8m0, a float32's exponent field: the rounding decides between it and the next one."""
    if rounding is RoundingMode.RZ:
        return b.lshr(magnitude, _F32_MANTISSA)
    if rounding is RoundingMode.RP:
        low, up = 1 << 22, (1 << _F32_MANTISSA) - 1
        code = b.lshr(b.add(magnitude, up), _F32_MANTISSA)
    else:
        # Powers of two alone have no even neighbour: their ties go up.
        low = (3 << 21) - 1  # below halfway between 2**-127 and 2**-126
        code = b.lshr(b.add(magnitude, 1 << 22), _F32_MANTISSA)
        code = b.select(b.icmp("ult", magnitude, 1 << _F32_MANTISSA), b.like(code, 1), code)
    return b.select(b.icmp("ule", magnitude, low), b.like(code, 0), code)
