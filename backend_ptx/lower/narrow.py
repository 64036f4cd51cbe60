"""The formats that a register holds as bits: float8 of both kinds, and tfloat32's rounding of a float32."""

from __future__ import annotations

import math

from tilewright.backend_ptx.llvm.builder import Builder, Val
from tilewright.backend_ptx.lower import small_floats
from tilewright.backend_ptx.targets import Target
from tilewright.tileir.analysis import floats
from tilewright.tileir.dtypes import DType, float8_e4m3fn, float8_e5m2
from tilewright.tileir.enums import RoundingMode

_WORD = {float8_e4m3fn: "e4m3", float8_e5m2: "e5m2"}


def from_f32(b: Builder, dtype: DType, v: Val, target: Target, rounding: RoundingMode = RoundingMode.RN) -> Val:
    """float32 to float8 or float4, saturating to the largest finite value. Where the target has it, two lanes an
    instruction; a rounding other than to nearest even is for e8m0 alone."""
    if dtype not in _WORD or not target.has_fp8_cvt:
        return small_floats.encode(b, dtype, v, rounding)
    name = f"llvm.nvvm.ff.to.{_WORD[dtype]}x2.rn"

    def pair(low: Val, high: Val) -> Val:
        return b.call(name, "i16", [high, low])

    if v.n < 2:
        return b.cast("trunc", b.each(lambda x: pair(x, x), v), "i8")
    pairs = [pair(b.extract(v, i), b.extract(v, i + 1)) for i in range(0, v.n, 2)]
    return b.bitcast(b.vector(pairs), "i8", v.n)


def to_float(b: Builder, dtype: DType, v: Val, target: Target) -> Val:
    """float8 to float16, other formats to float32, exact."""
    if dtype not in _WORD:
        return small_floats.decode(b, dtype, v)
    if not target.has_fp8_cvt:
        return unpacked(b, dtype, v)
    name = f"llvm.nvvm.{_WORD[dtype]}x2.to.f16x2.rn"

    def pair(bits: Val) -> Val:
        return b.call(name, "half", [bits], 2)

    if v.n < 2:
        return b.each(lambda bits: b.extract(pair(bits), 0), b.cast("zext", v, "i16"))
    words = b.bitcast(v, "i16", v.n // 2)
    return b.concat([pair(b.extract(words, i)) for i in range(v.n // 2)])


def unpacked(b: Builder, dtype: DType, v: Val) -> Val:
    """float8 to float16 by moving bits, on any target; exact."""
    assert dtype in _WORD, dtype
    bits = b.cast("zext", v, "i16")
    if dtype is float8_e5m2:  # float16 without its low byte
        return b.bitcast(b.shl(bits, 8), "half")
    magnitude = b.and_(bits, 0x7F)
    sign = b.shl(b.and_(bits, 0x80), 8)
    # The exponent's bias is 8 more in float16: times 2**8, which is exact for subnormal values too.
    value = b.fmul(b.bitcast(b.or_(sign, b.shl(magnitude, 7)), "half"), 256.0)
    return b.select(b.icmp("eq", magnitude, 0x7F), b.like(value, math.nan), value)


def to_tf32(b: Builder, v: Val, rounding: RoundingMode) -> Val:
    """float32 with the 13 low bits of the mantissa rounded away; NaNs stay NaNs."""
    bits = b.bitcast(v, "i32")
    if rounding is RoundingMode.RN:
        bits = b.add(bits, b.add(b.and_(b.lshr(bits, 13), 1), 0xFFF))
    elif rounding is RoundingMode.RA:
        bits = b.add(bits, 0x1000)
    cut = b.bitcast(b.and_(bits, -0x2000), "float")
    return b.select(b.fcmp("uno", v, v), b.like(v, math.nan), cut)


def constant_bits(dtype: DType, value: float) -> int:
    """The code of a value that the format represents, or of the largest finite one for an infinity that it has not."""
    if value != value:
        return (1 << dtype.exponent + dtype.mantissa) - 1  # all bits but the sign: a NaN where there is one
    code = floats.encode(value if dtype.has_inf else floats.round_to(value, dtype), dtype)
    assert code is not None, f"{value} as {dtype}"
    return code
