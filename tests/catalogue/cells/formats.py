"""What the float formats can hold, from their definitions, not from the package under test."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Limits:
    """What a float format can hold: exponent of the smallest normal number, mantissa bits, largest value."""

    lowest: int
    mantissa: int
    largest: Fraction
    has_inf: bool
    has_nan: bool
    has_sign: bool
    has_zero: bool = True

    @property
    def smallest(self) -> Fraction:
        return Fraction(2) ** (self.lowest - (self.mantissa if self.has_zero else 0))

    @property
    def normal(self) -> Fraction:
        return Fraction(2) ** self.lowest


def _ieee(exponent: int, mantissa: int) -> Limits:
    bias = (1 << (exponent - 1)) - 1
    return Limits(1 - bias, mantissa, (2 - Fraction(1, 2**mantissa)) * Fraction(2) ** bias, True, True, True)


LIMITS: dict[str, Limits] = {
    "float16": _ieee(5, 10), "bfloat16": _ieee(8, 7), "float32": _ieee(8, 23), "float64": _ieee(11, 52),
    "tfloat32": _ieee(8, 10), "float8_e5m2": _ieee(5, 2),
    "float8_e4m3fn": Limits(-6, 3, Fraction(448), False, True, True),
    "float8_e8m0fnu": Limits(-127, 0, Fraction(2) ** 127, False, True, False, has_zero=False),
    "float8_e5m3fnu": Limits(-14, 3, Fraction(2) ** 16 * Fraction(14, 8), False, True, False),
    "float4_e2m1fn": Limits(0, 1, Fraction(6), False, False, True),
}
