"""Numbers of the language's dtypes, one element at a time, in exact arithmetic; written from docs/language.md alone."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

Number = Any  # bool, int or float, as the dtype says


@dataclass(frozen=True)
class DType:
    """`digits`: of a float's significand; `least`: the exponent of its smallest normal number."""

    name: str
    kind: str  # "bool", "int", "uint", "float"
    bits: int
    digits: int = 0
    least: int = 0
    largest: float = math.inf
    saturates: bool = False

    def __call__(self, value: Number) -> Any:
        """A constant of this dtype."""
        from oracle.tiles import scalar

        return scalar(self, value)

    @property
    def low(self) -> int:
        return -(1 << self.bits - 1) if self.kind == "int" else 0

    @property
    def high(self) -> int:
        return (1 << self.bits - (self.kind == "int")) - 1


BOOL = DType("bool_", "bool", 8)
INTS = [DType(f"{kind}{bits}", kind, bits) for kind in ("int", "uint") for bits in (8, 16, 32, 64)]
F16 = DType("float16", "float", 16, 11, -14, 65504.0)
BF16 = DType("bfloat16", "float", 16, 8, -126, float.fromhex("0x1.fep127"))
F32 = DType("float32", "float", 32, 24, -126, float.fromhex("0x1.fffffep127"))
F64 = DType("float64", "float", 64, 53, -1022, float.fromhex("0x1.fffffffffffffp1023"))
TF32 = DType("tfloat32", "float", 32, 11, -126, float.fromhex("0x1.ffcp127"))
E4M3 = DType("float8_e4m3fn", "float", 8, 4, -6, 448.0, True)
E5M2 = DType("float8_e5m2", "float", 8, 3, -14, 57344.0, True)
DTYPES = {d.name: d for d in (BOOL, *INTS, F16, BF16, F32, F64, TF32, E4M3, E5M2)}


def nearest(x: Fraction, dtype: DType, mode: str = "RN") -> float:
    """A number other than 0 rounded to a float format: to nearest, ties to even (RN), or to zero (RZ), down (RM), up
    (RP)."""
    size, towards_zero = abs(x), mode == "RZ" or mode == ("RM" if x > 0 else "RP")
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** exponent > size:
        exponent -= 1
    step = Fraction(2) ** (max(exponent, dtype.least) - dtype.digits + 1)
    steps = size / step
    whole = round(steps) if mode == "RN" else math.floor(steps) if towards_zero else math.ceil(steps)
    value = float(whole * step) if whole * step <= Fraction(dtype.largest) else math.inf
    if math.isinf(value) and (dtype.saturates or towards_zero):
        value = dtype.largest
    return value if x > 0 else -value


def convert(value: Number, dtype: DType, mode: str = "RN") -> Number:
    """As `astype` converts: integers wrap, floats truncate and saturate (NaN gives 0), to floats it rounds."""
    if dtype.kind == "bool":
        return value != 0
    if dtype.kind != "float":
        if not isinstance(value, float):
            return wrap(int(value), dtype)
        if math.isnan(value):
            return 0
        if math.isinf(value):
            return dtype.high if value > 0 else dtype.low
        return min(max(math.trunc(value), dtype.low), dtype.high)
    if isinstance(value, float) and (not math.isfinite(value) or value == 0):
        return math.copysign(dtype.largest, value) if dtype.saturates and math.isinf(value) else value
    return nearest(Fraction(value), dtype, mode) if value != 0 else 0.0


def wrap(value: int, dtype: DType) -> int:
    return (value - dtype.low) % (1 << dtype.bits) + dtype.low


def _rounded(exact: Fraction, zero: float, dtype: DType, mode: str = "RN") -> float:
    return nearest(exact, dtype, mode) if exact else zero


def add(a: Number, b: Number, dtype: DType, mode: str = "RN") -> Number:
    if dtype.kind != "float":
        return wrap(a + b, dtype)
    if not (math.isfinite(a) and math.isfinite(b)):
        return a + b
    return _rounded(Fraction(a) + Fraction(b), _zero(a, b, mode), dtype, mode)


def _zero(a: float, b: float, mode: str) -> float:
    """The sum of two numbers that cancel: 0.0, and -0.0 where one rounds down; of zeros alike, what they are."""
    if math.copysign(1, a) == math.copysign(1, b):
        return a
    return -0.0 if mode == "RM" else 0.0


def mul(a: Number, b: Number, dtype: DType, mode: str = "RN") -> Number:
    if dtype.kind != "float":
        return wrap(a * b, dtype)
    if not (math.isfinite(a) and math.isfinite(b)):
        return a * b
    return _rounded(Fraction(a) * Fraction(b), math.copysign(1, a) * math.copysign(1, b) * 0.0, dtype, mode)


def fma(a: float, b: float, c: float, dtype: DType, mode: str = "RN") -> float:
    """a * b + c with one rounding."""
    if not (math.isfinite(a) and math.isfinite(b)):
        return a * b + c
    if not math.isfinite(c):
        return c
    product = Fraction(a) * Fraction(b)
    sign = math.copysign(1, a) * math.copysign(1, b) * 0.0
    return _rounded(product + Fraction(c), _zero(sign, c, mode), dtype, mode)


def div(a: float, b: float, dtype: DType, mode: str = "RN") -> float:
    if math.isnan(a) or math.isnan(b):
        return math.nan
    if b == 0:
        return math.nan if a == 0 else math.copysign(math.inf, a) * math.copysign(1, b)
    if not (math.isfinite(a) and math.isfinite(b)):
        return a / b
    return _rounded(Fraction(a) / Fraction(b), math.copysign(1, a) * math.copysign(1, b) * 0.0, dtype, mode)


def modulo(a: float, b: float, dtype: DType) -> float:
    """The remainder with the sign of b."""
    if math.isnan(a) or math.isnan(b) or math.isinf(a) or b == 0:
        return math.nan
    rest = math.fmod(a, b)
    if rest == 0:
        return math.copysign(0.0, b)
    return rest if (rest < 0) == (b < 0) else float(add(rest, b, dtype))


def flushing(function: Any, flush: bool) -> Any:
    """A function of numbers, a dtype and a mode; with `flush` subnormal operands and results are zeros."""
    def zero(v: float) -> float:
        return math.copysign(0.0, v) if abs(v) < 2.0**-126 else v

    return (lambda *args: zero(function(*map(zero, args[:-2]), *args[-2:]))) if flush else function


def sqrt(a: float, dtype: DType) -> float:
    if math.isnan(a) or a < 0:
        return math.nan
    if a == 0 or math.isinf(a):
        return a
    return math.sqrt(a) if dtype is F64 else nearest(Fraction(math.sqrt(a)), dtype)


def extreme(a: Number, b: Number, largest: bool, propagate_nan: bool = False) -> Number:
    """The larger or smaller one; a NaN gives way (or wins), and -0.0 is below 0.0."""
    if a != a or b != b:
        return b if (a != a) != propagate_nan else a
    first = (a, math.copysign(1, a)) < (b, math.copysign(1, b))
    return b if first == largest else a


def bits_of(value: Number, dtype: DType) -> int:
    """The pattern of bits of a number, without its sign as an integer."""
    if dtype.kind != "float":
        return int(value) % (1 << dtype.bits)
    code = {64: ("<d", "<Q"), 32: ("<f", "<I"), 16: ("<e", "<H")}[32 if dtype is BF16 else dtype.bits]
    number = int(struct.unpack(code[1], struct.pack(code[0], value))[0])
    return number >> 16 if dtype is BF16 else number


def of_bits(number: int, dtype: DType) -> Number:
    if dtype.kind != "float":
        return wrap(number, dtype)
    code = {64: ("<d", "<Q"), 32: ("<f", "<I"), 16: ("<e", "<H")}[32 if dtype is BF16 else dtype.bits]
    return struct.unpack(code[0], struct.pack(code[1], number << 16 if dtype is BF16 else number))[0]
