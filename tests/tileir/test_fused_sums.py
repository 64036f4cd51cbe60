"""Sums of products as tensor cores compute them, against the rule in fractions: random and adversarial operands."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tilewright.backend_ptx.targets import TARGETS
from tilewright.tileir import dtypes as dt
from tilewright.tileir.analysis.floats import float_format
from tilewright.tileir.dtypes import DType
from tilewright.tileir.fused_sums import multiply_add, operand, scaled_operand
from tilewright.tileir.tensor_cores import AMPERE, HOPPER, Summation

Array = np.ndarray[Any, Any]
NUMPY = {dt.float16: np.float16, dt.bfloat16: ml_dtypes.bfloat16, dt.float8_e4m3fn: ml_dtypes.float8_e4m3fn,
         dt.float8_e5m2: ml_dtypes.float8_e5m2}
HALF_FORMAT = float_format(dt.float16)


def split(x: float, least: int) -> tuple[Fraction, int]:
    """Significand and exponent, that of subnormal numbers being the least one."""
    exponent = max(math.frexp(x)[1] - 1, least)
    return Fraction(x) / Fraction(2) ** exponent, exponent


def cut(x: Fraction) -> int:
    return int(x)  # toward zero


def rounded(total: Fraction, fraction: int, half: bool) -> float:
    """The result of a sum: cut to a float32 of so many fractional bits, or the nearest float16."""
    if total == 0:
        return 0.0
    exponent = math.floor(math.log2(abs(total)))  # off by one at most: both ways below
    while abs(total) >= Fraction(2) ** (exponent + 1):
        exponent += 1
    while abs(total) < Fraction(2) ** exponent:
        exponent -= 1
    if half:
        unit = Fraction(2) ** (max(exponent, HALF_FORMAT.min_exponent) - HALF_FORMAT.mantissa)
        found = float(round(total / unit) * unit)
        return math.copysign(math.inf, total) if abs(found) > 65504 else math.copysign(found, total)
    unit = Fraction(2) ** (max(exponent, -126) - fraction)
    found = float(cut(total / unit) * unit)
    return math.copysign(math.inf if abs(found) >= 2.0**128 else found, total)


def one_sum(a: list[float], b: list[float], c: float, kinds: tuple[DType, DType], rule: Summation, half: bool) -> float:
    """The rule for one element and one instruction, step by step."""
    exact = sum((x * y for x, y in zip(a, b, strict=True)), c)
    if not math.isfinite(exact):
        return exact
    terms = [(Fraction(c) / Fraction(2) ** max(math.frexp(c)[1] - 1, -126), max(math.frexp(c)[1] - 1, -126))
             if c else (Fraction(0), -126)]
    for x, y in zip(a, b, strict=True):
        if x and y:
            (sx, ex), (sy, ey) = (split(v, float_format(d).min_exponent) for v, d in zip((x, y), kinds, strict=True))
            terms.append((sx * sy, ex + ey))
    top = max(exponent for _, exponent in terms)
    unit = Fraction(2) ** (top - rule.fraction)
    total = sum(cut(significand * Fraction(2) ** exponent / unit) for significand, exponent in terms)
    return rounded(total * unit, rule.result, half)


def by_fractions(a: Array, b: Array, c: Array, kinds: tuple[DType, DType], rule: Summation, half: bool) -> Array:
    out = np.empty(c.shape, np.float32)
    for i, j in np.ndindex(c.shape):
        value = float(c[i, j])
        for k in range(0, a.shape[1], rule.together):
            part = slice(k, k + rule.together)
            value = one_sum(a[i, part].tolist(), b[part, j].tolist(), value, kinds, rule, half)
        out[i, j] = value
    return out


def numbers(rng: np.random.Generator, shape: tuple[int, int], dtype: DType, spread: int) -> Array:
    """Numbers of a dtype whose exponents vary by 2**spread, with zeros, subnormal numbers and cancelling pairs."""
    x = rng.standard_normal(shape) * 2.0 ** rng.integers(-spread, spread + 1, shape)
    tiny = float_format(dtype)
    x[rng.random(shape) < 0.1] = 2.0 ** (tiny.min_exponent - tiny.mantissa) * 3
    x[rng.random(shape) < 0.1] = -0.0
    if shape[1] > 1:
        same = rng.random(shape[0]) < 0.3
        x[same, 1] = -x[same, 0]
    if dtype is dt.tfloat32:
        return (x.astype(np.float32).view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32).astype(np.float64)
    with np.errstate(over="ignore"):
        return np.nan_to_num(x.astype(NUMPY[dtype]).astype(np.float64), nan=0.0, posinf=0.0, neginf=0.0)


def bits(x: Array) -> Array:
    return x.view(np.uint32)


KINDS = (dt.float16, dt.bfloat16, dt.tfloat32, dt.float8_e4m3fn, dt.float8_e5m2)
UNITS = [(name, unit) for name, target in TARGETS.items() for unit in target.matrix_units if unit != "fma"]


@pytest.mark.parametrize(("target", "unit"), UNITS)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_the_rule(kind: DType, target: str, unit: str) -> None:
    rng = np.random.default_rng(random.Random(f"{kind} {target} {unit}").randrange(1 << 30))
    cores = TARGETS[target].tensor_cores
    depth = 256 // max(kind.bitwidth, 8)
    rule = cores.summation(unit, kind, depth)
    other = {dt.float8_e4m3fn: dt.float8_e5m2}.get(kind, kind)
    halves = (False, True) if kind.bitwidth < 32 and kind is not dt.bfloat16 else (False,)
    for spread in (0, 5, 12, 60):
        for half in halves:
            a, b = numbers(rng, (4, 2 * depth), kind, spread), numbers(rng, (2 * depth, 3), other, spread)
            c = numbers(rng, (4, 3), dt.float16 if half else dt.bfloat16, spread).astype(np.float32)
            found = multiply_add(operand(a, kind), operand(b, other), c, rule, half=half)
            want = by_fractions(a, b, c, (kind, other), rule, half)
            assert (bits(found) == bits(want)).all(), (spread, half, found - want)


def test_the_rule_is_no_other() -> None:
    """One bit more or less, another number of products at once, or rounding give other results: the tests can fail."""
    rng = np.random.default_rng(3)
    a, b = numbers(rng, (16, 32), dt.float16, 3), numbers(rng, (32, 16), dt.float16, 3)
    c = np.zeros((16, 16), np.float32)
    left, right = operand(a, dt.float16), operand(b, dt.float16)
    rule = HOPPER.summation("wgmma", dt.float16, 16)
    assert rule == Summation(16, 25) and AMPERE.summation("mma.sync", dt.float16, 16) == Summation(8, 24)
    found = multiply_add(left, right, c, rule)
    for other in (Summation(16, 24), Summation(16, 26), Summation(8, 25), Summation(16, 25, 22)):
        assert (bits(multiply_add(left, right, c, other)) != bits(found)).sum() > 20, other
    assert (bits((a @ b).astype(np.float32)) != bits(found)).sum() > 100


def test_subnormal_sums_are_cut() -> None:
    """Below float32's normal range the unit is 2**-149, and what is cut to nothing keeps its sign."""
    rule = HOPPER.summation("wgmma", dt.bfloat16, 16)
    a, b = np.array([[2.0**-100, 0.0]]), np.array([[2.0**-48 * 1.5], [0.0]])
    c = np.zeros((1, 1), np.float32)
    assert multiply_add(operand(a, dt.bfloat16), operand(b, dt.bfloat16), c, rule) == np.float32(2.0**-148 * 1.5)
    b *= -(2.0**-2)
    assert bits(multiply_add(operand(a, dt.bfloat16), operand(b, dt.bfloat16), c, rule)) == 0x80000000


@pytest.mark.parametrize(("a", "b", "c", "want"), [
    ([1.0, math.inf], [1.0, 1.0], 0.0, 0x7F800000), ([1.0, -math.inf], [1.0, 1.0], 0.0, 0xFF800000),
    ([math.inf, math.inf], [1.0, -1.0], 0.0, 0x7FFFFFFF), ([math.inf, 1.0], [0.0, 1.0], 0.0, 0x7FFFFFFF),
    ([math.nan, 1.0], [1.0, 1.0], 0.0, 0x7FFFFFFF), ([1.0, 1.0], [1.0, 1.0], math.nan, 0x7FFFFFFF),
    ([1.0, 1.0], [1.0, 1.0], -math.inf, 0xFF800000), ([math.inf, 0.0], [1.0, 0.0], -math.inf, 0x7FFFFFFF),
    ([2.0**100, 0.0], [2.0**100, 0.0], 0.0, 0x7F800000), ([2.0**100, 2.0**100], [2.0**100, -(2.0**100)], 1.0, 0),
    ([-0.0, -0.0], [1.0, 1.0], -0.0, 0),
])
def test_special_values(a: list[float], b: list[float], c: float, want: int) -> None:
    """NaN is the canonical one; products that are finite overflow in the sum alone; a sum of zeros is +0."""
    left, right = np.array([a]), np.array([b]).T
    with np.errstate(all="ignore"):
        found = multiply_add(operand(left, dt.bfloat16), operand(right, dt.bfloat16), np.array([[c]], np.float32),
                             HOPPER.summation("wgmma", dt.bfloat16, 16))
    assert int(bits(found)[0, 0]) == want, hex(int(bits(found)[0, 0]))


def test_special_values_leave_others_alone() -> None:
    rng = np.random.default_rng(5)
    a, b = numbers(rng, (8, 16), dt.float16, 2), numbers(rng, (16, 8), dt.float16, 2)
    c, rule = np.zeros((8, 8), np.float32), HOPPER.summation("wgmma", dt.float16, 16)
    plain = multiply_add(operand(a, dt.float16), operand(b, dt.float16), c, rule)
    a[3, 5], b[2, 6] = math.nan, math.inf
    with np.errstate(all="ignore"):
        found = multiply_add(operand(a, dt.float16), operand(b, dt.float16), c, rule)
    hit = np.zeros((8, 8), bool)
    hit[3], hit[:, 6] = True, True
    assert (bits(found) == bits(plain))[~hit].all() and not np.isfinite(found[hit]).any()


def test_large_products_are_cut_into_pieces() -> None:
    """Batches, rows and broadcast operands give what one element after the other gives."""
    rng = np.random.default_rng(6)
    a, b = rng.standard_normal((3, 200, 40)), rng.standard_normal((40, 100))
    c = rng.standard_normal((3, 200, 100)).astype(np.float32)
    rule = HOPPER.summation("mma.sync", dt.float16, 16)
    a, b = a.astype(np.float16).astype(np.float64), b.astype(np.float16).astype(np.float64)
    whole = multiply_add(operand(a, dt.float16), operand(b, dt.float16), c, rule)
    for batch, row in ((0, 0), (2, 199), (1, 77)):
        left = operand(a[batch, row : row + 1], dt.float16)
        one = multiply_add(left, operand(b, dt.float16), c[batch, row : row + 1], rule)
        assert (bits(one) == bits(whole[batch, row : row + 1])).all()


def test_block_scales() -> None:
    """Exponents of scales count as those of the elements do; 4-bit floats are added exactly, 16 at a time."""
    rng = np.random.default_rng(7)
    cores = TARGETS["sm_120a"].tensor_cores
    a, b = (numbers(rng, shape, dt.float8_e4m3fn, 1) for shape in ((2, 32), (32, 2)))
    scale = np.full((2, 32), 2.0**4)
    c = rng.standard_normal((2, 2)).astype(np.float32)
    rule = cores.summation("mma.sync", dt.float8_e4m3fn, 32)
    kind, of = dt.float8_e4m3fn, dt.float8_e8m0fnu
    found = multiply_add(scaled_operand(a, kind, scale, of), scaled_operand(b, kind, scale.T, of), c, rule)
    want = multiply_add(operand(a, kind), operand(b, kind), np.float32(c / 256), rule) * np.float32(256)
    assert (bits(found) == bits(want)).all()
    fours = rng.choice([-6.0, -1.5, 0.0, 0.5, 3.0], (2, 64))
    rule = cores.summation("mma.sync", dt.float4_e2m1fn, 64)
    assert rule == Summation(64, 35, first=16)
    scale = 2.0 ** np.repeat(rng.integers(-3, 4, (2, 4)), 16, axis=1)
    left, right = (
        scaled_operand(x, dt.float4_e2m1fn, s, dt.float8_e4m3fn) for x, s in ((fours, scale), (fours.T, scale.T)))
    exact = (fours * scale) @ (fours * scale).T + c.astype(np.float64)
    cut_once = (exact.view(np.int64) & ~((1 << 29) - 1)).view(np.float64).astype(np.float32)
    assert (bits(multiply_add(left, right, c, rule)) == bits(cut_once)).all()
