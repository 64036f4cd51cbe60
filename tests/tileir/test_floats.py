"""Exact arithmetic of float formats: every code of the narrow ones, and rounding against the list of their numbers."""

from __future__ import annotations

import bisect
import functools
import math
import random
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tilewright.tileir import dtypes as dt
from tilewright.tileir.analysis import floats
from tilewright.tileir.analysis.floats import RA, RM, RN, RP, RZ

HOST: dict[Any, Any] = {
    dt.float16: np.float16, dt.bfloat16: ml_dtypes.bfloat16, dt.float8_e4m3fn: ml_dtypes.float8_e4m3fn,
    dt.float8_e5m2: ml_dtypes.float8_e5m2, dt.float8_e8m0fnu: ml_dtypes.float8_e8m0fnu,
    dt.float4_e2m1fn: ml_dtypes.float4_e2m1fn,
}
MODES = (RN, RZ, RM, RP, RA)


def codes(dtype: Any) -> range:
    return range(1 << dtype.bitwidth)


@pytest.mark.parametrize("dtype", HOST, ids=str)
def test_every_code(dtype: Any) -> None:
    width = np.uint16 if dtype.bitwidth == 16 else np.uint8
    host = np.array(codes(dtype), width).view(HOST[dtype]).astype(np.float64)
    step = 61 if dtype.bitwidth == 16 else 1
    for code, want in list(zip(codes(dtype), host.tolist(), strict=True))[::step]:
        value = floats.decode(code, dtype)
        assert value == want or (value != value and want != want), code
        assert math.copysign(1, value) == math.copysign(1, want) or want != want
        assert floats.encode(value, dtype) == (None if value != value else code)
        assert floats.holds(value, dtype) == (value == value or dtype is not dt.float4_e2m1fn)
        if math.isfinite(value):
            assert floats.round_to(value, dtype) == value


@pytest.mark.parametrize("dtype, size", [(dt.float32, 4), (dt.float64, 8)], ids=str)
def test_codes_of_wide_formats(dtype: Any, size: int) -> None:
    pick = random.Random(1)
    edges = [e << dtype.mantissa | m for e in (0, 1, 2, 100, (1 << dtype.exponent) - 2) for m in (
        0, 1, (1 << dtype.mantissa) - 1)]
    infinity = (1 << dtype.exponent) - 1 << dtype.mantissa
    for code in [*edges, *(pick.getrandbits(8 * size - 1) for _ in range(500)), infinity]:
        for bits in (code, code | 1 << 8 * size - 1):
            value = float(np.array(bits, f"u{size}").view(f"f{size}"))
            got = floats.decode(bits, dtype)
            assert got == value or (got != got and value != value)
            if value == value:
                assert floats.encode(value, dtype) == bits
                assert math.copysign(1, got) == math.copysign(1, value) and floats.holds(value, dtype)


def finite(dtype: Any) -> list[tuple[float, int]]:
    """The numbers of a format with their codes, in order; of zeros the positive one."""
    found = {v: code for code in reversed(codes(dtype)) if math.isfinite(v := floats.decode(code, dtype))}
    return sorted((v, code) for v, code in found.items())


@functools.cache
def rounding(dtype: Any) -> Rounding:
    return Rounding(dtype)


class Rounding:
    """By the list of all numbers: between two of them a mode chooses, beyond the last one too."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        self.values: list[float]
        self.values, self.codes = map(list, zip(*finite(dtype), strict=True))

    def __call__(self, exact: Fraction, mode: Any) -> float:
        at = bisect.bisect_left(self.values, exact)
        if at < len(self.values) and self.values[at] == exact:
            return float(exact)
        if at in (0, len(self.values)):
            return self.beyond(exact, mode)
        low, high = map(Fraction, self.values[at - 1:at + 1])
        even = [c % 2 == 0 for c in self.codes[at - 1:at + 1]]
        return float(low if self.lower(exact, low, high, even, mode) else high)

    def lower(self, exact: Fraction, low: Fraction, high: Fraction, even: list[bool], mode: Any) -> bool:
        if mode in (RM, RP):
            return bool(mode is RM)
        if mode is RZ:
            return exact > 0
        middle = (low + high) / 2
        if exact != middle:
            return exact < middle
        return even[0] if mode is RN else exact < 0

    def beyond(self, exact: Fraction, mode: Any) -> float:
        """What is larger than all numbers: the largest, or, half a place beyond or by the mode, infinity."""
        sign = -1 if exact < 0 else 1
        if exact < 0 and not self.dtype.has_sign:
            return float(self.values[0])
        if self.dtype in floats.SATURATING:
            return sign * float(self.values[-1])
        last, before = map(Fraction, (self.values[-1], self.values[-2]))
        bound = last + (last - before) / 2
        near = mode in (RN, RA)
        infinite = abs(exact) >= bound if near else mode is (RM if exact < 0 else RP)
        return sign * (math.inf if infinite else float(self.values[-1]))


@pytest.mark.parametrize("mode", MODES, ids=lambda m: m.name)
@pytest.mark.parametrize(
    "dtype", [dt.float8_e4m3fn, dt.float8_e5m2, dt.float4_e2m1fn, dt.float16, dt.bfloat16], ids=str)
def test_rounding(dtype: Any, mode: Any) -> None:
    """Middles of neighbours, a little beside them, and what lies beyond the largest."""
    rounds = rounding(dtype)
    step = 1 if dtype.bitwidth <= 8 else 1009
    for low, high in zip(map(Fraction, rounds.values[:-1:step]), map(Fraction, rounds.values[1::step]), strict=False):
        middle, little = (low + high) / 2, (high - low) / 64
        for exact in (low, middle - little, middle, middle + little, low + little, high - little):
            if exact:
                assert floats.round_ratio(*exact.as_integer_ratio(), dtype, mode) == rounds(exact, mode), exact
    last = Fraction(rounds.values[-1])
    place = last - Fraction(rounds.values[-2])
    for exact in (last + place / 4, last + place / 2, last + place, last * 8):
        for one in (exact, -exact):
            assert floats.round_ratio(*one.as_integer_ratio(), dtype, mode) == rounds(one, mode), one
    infinity = float(last) if dtype in floats.SATURATING else math.inf
    assert [floats.round_to(v, dtype, mode) for v in (math.inf, -math.inf)] == [infinity, -infinity]


def test_formats_without_a_sign() -> None:
    e8 = dt.float8_e8m0fnu
    assert [floats.round_to(v, e8) for v in (0.0, -1.0, 1e-60, 3.0, 1e60, math.inf)] == [
        2.0**-127, 2.0**-127, 2.0**-127, 4.0, 2.0**127, 2.0**127]
    assert floats.round_to(-1.0, dt.float8_e5m3fnu) == 0.0 == floats.round_to(-0.0, dt.float8_e5m3fnu)
    assert floats.round_to(math.nan, dt.float4_e2m1fn) == 6.0


@pytest.mark.parametrize("mode", MODES, ids=lambda m: m.name)
def test_arithmetic(mode: Any) -> None:
    dtype, pick = dt.float16, random.Random(2)
    rounds = rounding(dtype)
    drawn = (floats.decode(pick.getrandbits(16), dtype) for _ in range(200))
    values = [0.0, -0.0, 1.0, -1.0, 65504.0, 2.0**-24, *filter(math.isfinite, drawn)]
    for _ in range(600):
        a, b, c = (pick.choice(values) for _ in range(3))
        x, y, z = map(Fraction, (a, b, c))
        results = {"add": (floats.add(a, b, dtype, mode), x + y),
                   "multiply": (floats.multiply(a, b, dtype, mode), x * y),
                   "fma": (floats.fma(a, b, c, dtype, mode), x * y + z)}
        if b:
            results["divide"] = floats.divide(a, b, dtype, mode), x / y
        for name, (got, exact) in results.items():
            if exact:
                assert got == rounds(exact, mode), (name, a, b, c)
            else:
                assert got == 0
    for a in filter(lambda v: v > 0, values):
        scaled = int(Fraction(a) * 2**400)  # the root of a times 2**200, and whether something is left
        root = math.isqrt(scaled)
        exact = Fraction(root + Fraction(root * root != scaled, 2), 2**200)
        assert floats.square_root(a, dtype, mode) == rounds(exact, mode), a


@pytest.mark.parametrize("mode", MODES, ids=lambda m: m.name)
def test_zeros_and_what_is_not_finite(mode: Any) -> None:
    def signs(*values: float) -> list[float]:
        assert all(v == 0 for v in values)
        return [math.copysign(1, v) for v in values]

    f16, inf, away = dt.float16, math.inf, -1.0 if mode is RM else 1.0
    assert signs(floats.add(0.0, 0.0, f16, mode), floats.add(-0.0, -0.0, f16, mode)) == [1, -1]
    assert signs(floats.add(0.0, -0.0, f16, mode), floats.add(1.5, -1.5, f16, mode)) == [away, away]
    assert signs(floats.multiply(-0.0, 2.0, f16, mode), floats.multiply(-0.0, -2.0, f16, mode)) == [-1, 1]
    assert signs(floats.divide(-0.0, 2.0, f16, mode), floats.divide(1.0, -inf, f16, mode)) == [-1, -1]
    assert signs(floats.fma(-0.0, 1.0, -0.0, f16, mode), floats.fma(-0.0, -1.0, 0.0, f16, mode)) == [-1, 1]
    assert signs(floats.fma(0.0, -1.0, 0.0, f16, mode), floats.fma(2.0, 1.0, -2.0, f16, mode)) == [away, away]
    assert signs(floats.square_root(-0.0, f16, mode), floats.square_root(0.0, f16, mode)) == [-1, 1]
    assert [floats.add(inf, 1.0, f16, mode), floats.multiply(inf, -1.0, f16, mode), floats.divide(-inf, 2.0, f16, mode),
            floats.fma(inf, 1.0, 2.0, f16, mode), floats.fma(1.0, 1.0, -inf, f16, mode),
            floats.square_root(inf, f16, mode)] == [inf, -inf, -inf, inf, -inf, inf]
    assert all(v != v for v in (floats.add(inf, -inf, f16, mode), floats.multiply(inf, 0.0, f16, mode),
                                floats.divide(inf, inf, f16, mode), floats.fma(inf, 1.0, -inf, f16, mode)))
