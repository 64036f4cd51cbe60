"""Conversions of constants between dtypes: those of the language (`convert_constant`) and those of ops."""

from __future__ import annotations

import math

from tilewright.tileir.analysis.floats import EXACT_MODES, RN, decode, encode, round_ratio, round_to
from tilewright.tileir.diagnostics import TileValueError
from tilewright.tileir.dtypes import DType, float4_e2m1fn, float8_e8m0fnu, tfloat32
from tilewright.tileir.enums import RoundingMode

Number = bool | int | float


def wrap(value: int, dtype: DType) -> int:
    """An integer modulo 2^n, in the range of an integer dtype."""
    value &= (1 << dtype.bitwidth) - 1
    return value - (1 << dtype.bitwidth) if dtype.is_signed and value >> (dtype.bitwidth - 1) else value


def convert_constant(value: Number, dtype: DType) -> Number:
    """What a constant of the source becomes in a dtype, as `astype` converts tiles: integers wrap modulo 2^n, floats
    truncate to integers and saturate (NaN gives 0), and numbers round to the nearest value of a float format.

    TileValueError: a negative number in an unsigned float format; NaN in e2m1.
    """
    if dtype.is_bool:
        return bool(value != 0)
    if dtype.is_int:
        return _saturate(value, dtype) if isinstance(value, float) else wrap(int(value), dtype)
    _check_has_value(value, dtype)
    if isinstance(value, float):
        return round_to(value, dtype)
    return _int_to_float(int(value), dtype, RN)


def _check_has_value(value: Number, dtype: DType) -> None:
    if value != value:
        if dtype is float4_e2m1fn:
            raise TileValueError(f"{dtype} has no NaN")
    elif not dtype.has_sign and math.copysign(1.0, value) < 0:
        raise TileValueError(f"{dtype} is unsigned and cannot hold {value}")


def _int_to_float(value: int, dtype: DType, mode: RoundingMode) -> float:
    if value == 0:
        return round_to(0.0, dtype, mode)
    return round_ratio(value, 1, dtype, mode)


def cast(value: Number, source: DType, dtype: DType, mode: RoundingMode) -> Number | None:
    """The value of a `cast` op; None where it is better left to the executor (NaN, negative into unsigned floats)."""
    if source is dtype:
        return value
    if dtype.is_bool:
        return bool(value != 0)
    if dtype.is_int:
        return _saturate(value, dtype) if source.is_float else wrap(int(value), dtype)
    if mode not in EXACT_MODES or value != value or (not dtype.has_sign and value <= 0):
        return None
    if dtype is float8_e8m0fnu and (mode is RN or not source.is_float):
        return None
    return round_to(float(value), dtype, mode) if source.is_float else _int_to_float(int(value), dtype, mode)


def _saturate(value: Number, dtype: DType) -> int:
    """A float truncated and clamped to an integer dtype; NaN gives 0."""
    if value != value:
        return 0
    low, high = dtype.int_range
    if math.isinf(value):
        return low if value < 0 else high
    return min(max(int(value), low), high)


def bitcast(value: Number, source: DType, dtype: DType) -> Number | None:
    """The value of a `bitcast` op; None where the bits are not told by the value (NaN) or not kept by the dtype."""
    if tfloat32 in (source, dtype):
        return None
    bits = encode(float(value), source) if source.is_float else int(value) & ((1 << source.bitwidth) - 1)
    if bits is None:
        return None
    if dtype.is_int:
        return wrap(bits, dtype)
    result = decode(bits, dtype)
    return None if result != result else result


def exact_cast(source: DType, dtype: DType) -> bool:
    """Whether every value of `source` (NaN, infinities and -0.0 included) is a value of `dtype` and survives a cast."""
    if source is dtype:
        return True
    if source.is_bool:
        return dtype.has_sign
    if source.is_int and dtype.is_int:
        (low, high), (below, above) = source.int_range, dtype.int_range
        return below <= low and high <= above
    if not dtype.is_float or not dtype.has_sign:
        return False
    if source.is_int:
        return source.bitwidth - source.is_signed <= dtype.mantissa + 1
    if dtype.bitwidth == 8:
        return False  # they saturate, so infinities change
    return dtype.exponent >= source.exponent and dtype.mantissa >= source.mantissa


__all__ = ["Number", "bitcast", "cast", "convert_constant", "exact_cast", "wrap"]
