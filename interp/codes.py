"""Floats of eight and four bits: tables from codes to values and from float32 to codes.

Encoding goes through the upper half of a float32 whose last bit collects all bits below it ("round to odd", eight
significant bits, at least two more than any of these formats has), so one table of 65536 codes per rounding mode
suffices and no value is rounded twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from tilewright.tileir import dtypes as dt
from tilewright.tileir.dtypes import DType
from tilewright.tileir.enums import RoundingMode
from tilewright.tileir.rounding import odd_float32


@dataclass(frozen=True)
class SmallFormat:
    """Bits of a small float. `nan` is a code for NaN (None: the format has none), `inf` the code of infinity."""

    exponent: int
    mantissa: int
    bias: int
    signed: bool
    nan: int | None
    inf: int | None
    numpy_name: str | None


FORMATS: dict[DType, SmallFormat] = {
    dt.float8_e4m3fn: SmallFormat(4, 3, 7, True, 0x7F, None, "float8_e4m3fn"),
    dt.float8_e5m2: SmallFormat(5, 2, 15, True, 0x7F, 0x7C, "float8_e5m2"),
    dt.float8_e8m0fnu: SmallFormat(8, 0, 127, False, 0xFF, None, "float8_e8m0fnu"),
    dt.float8_e5m3fnu: SmallFormat(5, 3, 15, False, 0xFF, None, None),
    dt.float4_e2m1fn: SmallFormat(2, 1, 1, True, None, None, "float4_e2m1fn"),
}


def _value(code: int, f: SmallFormat) -> float:
    """The value of a code without its sign bit."""
    if f.nan is not None and (code == f.nan or (f.inf is not None and code > f.inf)):
        return float("nan")
    if code == f.inf:
        return float("inf")
    fraction = code & ((1 << f.mantissa) - 1)
    exponent = code >> f.mantissa
    if f.mantissa == 0:  # powers of two only, no zero
        return 2.0 ** (exponent - f.bias)
    if exponent == 0:
        return fraction * 2.0 ** (1 - f.bias - f.mantissa)
    return (1 + fraction / (1 << f.mantissa)) * 2.0 ** (exponent - f.bias)


@cache
def value_table(dtype: DType) -> Any:
    """float32 value of each of the 256 codes (four-bit formats look at the low four bits)."""
    f = FORMATS[dtype]
    width = f.exponent + f.mantissa
    table = np.zeros(256, np.float32)
    for code in range(256):
        magnitude = _value(code & ((1 << width) - 1), f)
        negative = f.signed and code >> width & 1
        table[code] = -magnitude if negative else magnitude
    return table


def decode(code: Any, dtype: DType) -> Any:
    """float32 values of codes."""
    return value_table(dtype).take(code)


@cache
def _code_table(dtype: DType, mode: RoundingMode) -> Any:
    """Code for each upper half of a float32."""
    f = FORMATS[dtype]
    with np.errstate(invalid="ignore"):  # signalling NaNs among the patterns
        halves = (np.arange(65536, dtype=np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)
    width = f.exponent + f.mantissa
    finite = [c for c in range(1 << width) if np.isfinite(_value(c, f))]
    values = np.array([_value(c, f) for c in finite])
    magnitude = np.abs(halves)
    low = np.clip(np.searchsorted(values, magnitude, side="right") - 1, 0, len(values) - 1)
    high = np.minimum(low + 1, len(values) - 1)
    # Powers of two alone have no even neighbour: their ties go up.
    nearest = RoundingMode.RA if mode is RoundingMode.RN and f.mantissa == 0 else mode
    index = _choose(magnitude, values, low, high, np.signbit(halves), nearest)
    out = np.array(finite, np.uint8)[index]
    if f.signed:
        out = out | (np.signbit(halves).astype(np.uint8) << np.uint8(width))
    elif f.nan is not None:
        # Formats without a sign: nothing stands for a negative number.
        out = np.where(halves < 0, np.uint8(f.nan), out)
    if f.nan is not None:
        out = np.where(np.isnan(halves), np.uint8(f.nan), out)
    else:
        out = np.where(np.isnan(halves), np.uint8(finite[-1]), out)  # PTX: a NaN becomes the largest value
    return out.astype(np.uint8)


def _choose(x: Any, values: Any, low: Any, high: Any, negative: Any, mode: RoundingMode) -> Any:
    """Index of the rounded magnitude among its neighbours; values past the largest saturate."""
    exact = (values[low] == x) | (x <= values[0])
    if mode is RoundingMode.RN:
        middle = (values[low] + values[high]) / 2
        up = (x > middle) | ((x == middle) & (low % 2 == 1))
    elif mode is RoundingMode.RA:
        up = x >= (values[low] + values[high]) / 2
    elif mode is RoundingMode.RP:
        up = ~negative
    elif mode is RoundingMode.RM:
        up = negative
    else:
        up = np.zeros(x.shape, bool)
    return np.where(exact | ~up, low, high)


def encode(x: Any, dtype: DType, mode: RoundingMode) -> Any:
    """Codes of float32 values, rounded once; finite overflow and infinities saturate to the largest finite value."""
    bits = np.asarray(x, np.float32).view(np.uint32)
    half = (bits >> np.uint32(16)) | ((bits & np.uint32(0xFFFF)) != 0)
    return _code_table(dtype, mode).take(half)


def encode_nearest(x: Any, dtype: DType) -> Any:
    """Codes of float64 values, nearest even (also for formats where a cast needs a directed mode)."""
    return encode(odd_float32(np.asarray(x, np.float64)), dtype, RoundingMode.RN)


def constant(value: float, dtype: DType) -> Any:
    """The code of a constant: nearest even, and infinity where the format has one."""
    f = FORMATS[dtype]
    if f.inf is not None and np.isinf(value):
        return np.uint8(f.inf | (np.signbit(value) << (f.exponent + f.mantissa)))
    return encode_nearest(np.float64(value), dtype)[()]
