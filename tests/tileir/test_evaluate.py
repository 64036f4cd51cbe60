"""The evaluator of constants agrees with the interpreter, bit for bit, over all ops and dtypes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.interp_cases import apply, bits, samples

from tilewright.interp.formats import array_dtype
from tilewright.tileir.analysis.convert import exact_cast
from tilewright.tileir.analysis.evaluate import convert_constant, evaluate, round_to
from tilewright.tileir.analysis.floats import EXACT_MODES, decode, encode
from tilewright.tileir.core import OPS, Op
from tilewright.tileir.diagnostics import TileValueError
from tilewright.tileir.dtypes import (
    ALL,
    DType,
    bfloat16,
    bool_,
    float4_e2m1fn,
    float8_e4m3fn,
    float8_e5m2,
    float8_e5m3fnu,
    float8_e8m0fnu,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    tfloat32,
    uint8,
    uint16,
    uint32,
    uint64,
)
from tilewright.tileir.enums import RoundingMode
from tilewright.tileir.ops import arith, convert
from tilewright.tileir.ops import math as functions
from tilewright.tileir.ops.arith import Constant
from tilewright.tileir.types import TileType

INTS = (int8, int16, int32, int64, uint8, uint16, uint32, uint64)
FLOATS = (float16, bfloat16, float32, float64)
STORED = tuple(d for d in ALL if d is not tfloat32)
SOURCES = tuple(d for d in STORED if d is not float8_e5m3fnu)  # NumPy has no dtype for it
COUNT = 200
EDGES = (0.0, -0.0, 1.0, -1.0, 2.0, math.inf)


def number(element: Any, dtype: DType) -> bool | int | float:
    """An element of a NumPy array as the evaluator holds it."""
    return bool(element) if dtype.is_bool else float(element) if dtype.is_float else int(element)


def check(make: Callable[..., Op], inputs: list[tuple[DType, np.ndarray]], output: DType) -> int:
    """Evaluate each element and compare with the interpreter; gives how many could be evaluated."""
    with np.errstate(all="ignore"):
        want = apply(make, *(array for _, array in inputs), output=output)
    folded = 0
    for i in range(len(want)):
        numbers = [number(array[i], dtype) for dtype, array in inputs]
        constants = [Constant(value=n, type=TileType(d)).result for n, (d, _) in zip(numbers, inputs, strict=True)]
        got = evaluate(make(*constants), numbers)
        if got is None:
            continue
        folded += 1
        have = np.array([encode(got, output) if output is float8_e5m3fnu else got]).astype(array_dtype(output))
        assert bits(have)[0] == bits(want[i : i + 1])[0], f"{make(*constants).opcode}{numbers}: {got} for {want[i]}"
    return folded


def inputs(*dtypes: DType) -> list[tuple[DType, np.ndarray]]:
    arrays = [samples(d, COUNT, seed) for seed, d in enumerate(dtypes)]
    return list(zip(dtypes, arrays, strict=True))


BINARY_INT = (arith.Add, arith.Sub, arith.Mul, arith.FloorDiv, arith.CeilDiv, arith.Mod, arith.Min, arith.Max,
              arith.And, arith.Or, arith.Xor, arith.Shl, arith.Shr)
COMPARE = (arith.Eq, arith.Ne, arith.Lt, arith.Le, arith.Gt, arith.Ge)
UNARY = (functions.Neg, functions.Abs, functions.Not)


@pytest.mark.parametrize("dtype", INTS, ids=str)
def test_integers(dtype: DType) -> None:
    for cls in BINARY_INT:
        assert check(lambda a, b, cls=cls: cls(lhs=a, rhs=b), inputs(dtype, dtype), dtype) > COUNT // 2
    for cls in UNARY:
        assert check(lambda a, cls=cls: cls(src=a), inputs(dtype), dtype) == COUNT
    small = samples(dtype, COUNT, 3) % 7
    assert check(lambda a, b: arith.Pow(lhs=a, rhs=b), [*inputs(dtype), (dtype, small)], dtype) == COUNT


def test_bools() -> None:
    for cls in (arith.And, arith.Or, arith.Xor):
        assert check(lambda a, b, cls=cls: cls(lhs=a, rhs=b), inputs(bool_, bool_), bool_) == COUNT
    assert check(lambda a: functions.Not(src=a), inputs(bool_), bool_) == COUNT


@pytest.mark.parametrize("dtype", SOURCES, ids=str)
def test_comparisons_and_select(dtype: DType) -> None:
    for cls in COMPARE:
        check(lambda a, b, cls=cls: cls(lhs=a, rhs=b), inputs(dtype, dtype), bool_)
    make = lambda c, a, b: arith.Select(cond=c, lhs=a, rhs=b)  # noqa: E731
    assert check(make, inputs(bool_, dtype, dtype), dtype) > COUNT // 2


@pytest.mark.parametrize("mode", sorted(EXACT_MODES - {RoundingMode.RA}, key=str), ids=lambda m: m.name)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_float_arithmetic(dtype: DType, mode: RoundingMode) -> None:
    for cls in (arith.Add, arith.Sub, arith.Mul, arith.Div):
        count = check(lambda a, b, cls=cls: cls(lhs=a, rhs=b, rounding=mode), inputs(dtype, dtype), dtype)
        assert count > COUNT // 3
    make = lambda a, b, c: arith.Fma(a=a, b=b, c=c, rounding=mode)  # noqa: E731
    assert check(make, inputs(dtype, dtype, dtype), dtype) > COUNT // 3
    edges = np.array(list(itertools.product(EDGES, repeat=3)), array_dtype(dtype))  # sums that cancel, and of zeros
    assert check(make, [(dtype, edges[:, k]) for k in range(3)], dtype) > len(edges) // 3
    assert check(lambda a: functions.Sqrt(src=a, rounding=mode), inputs(dtype), dtype) > COUNT // 4


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_other_float_ops(dtype: DType) -> None:
    for cls in (arith.Min, arith.Max, arith.FloorDiv):
        assert check(lambda a, b, cls=cls: cls(lhs=a, rhs=b), inputs(dtype, dtype), dtype) > COUNT // 3
    for unary in (functions.Neg, functions.Abs, *functions.Integral.__subclasses__()):
        assert check(lambda a, cls=unary: cls(src=a), inputs(dtype), dtype) > COUNT // 2
    assert check(lambda a: functions.IsNan(src=a), inputs(dtype), bool_) == COUNT


@pytest.mark.parametrize("target", STORED, ids=str)
def test_casts(target: DType) -> None:
    for source in SOURCES:
        mode = RoundingMode.RZ if target is float8_e8m0fnu else RoundingMode.RN
        count = check(lambda a, mode=mode: convert.Cast(src=a, dtype=target, rounding=mode), inputs(source), target)
        assert count > COUNT // 4 or target is float8_e8m0fnu, source
        if source.bitwidth == target.bitwidth and not (source.is_bool or target.is_bool):
            check(lambda a: convert.Bitcast(src=a, dtype=target), inputs(source), target)


@pytest.mark.parametrize(
    ("source", "target", "mode"),
    [*((float64, float32, m) for m in ("RZ", "RM", "RP")), (float32, float16, "RZ"), (float32, bfloat16, "RZ")],
    ids=str,
)
def test_directed_casts(source: DType, target: DType, mode: str) -> None:
    make = lambda a: convert.Cast(src=a, dtype=target, rounding=RoundingMode[mode])  # noqa: E731
    assert check(make, inputs(source), target) > COUNT // 2


def test_functions_that_are_not_correctly_rounded_do_not_fold() -> None:
    for name in ("exp", "exp2", "log", "log2", "rsqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos",
                 "atan", "asinh", "atanh", "log1p", "expm1", "erf", "erfc", "sigmoid"):
        constant = Constant(value=0.5, type=TileType(float32)).result
        assert evaluate(OPS[name](src=constant), [0.5]) is None


def test_options_that_choose_an_implementation_do_not_fold() -> None:
    one = Constant(value=1.0, type=TileType(float32)).result
    assert evaluate(arith.Div(lhs=one, rhs=one), [1.0, 1.0]) == 1.0
    assert evaluate(arith.Div(lhs=one, rhs=one, rounding=RoundingMode.APPROX), [1.0, 1.0]) is None
    assert evaluate(arith.Add(lhs=one, rhs=one, ftz=True), [1.0, 1.0]) is None


@pytest.mark.parametrize(
    ("value", "dtype", "want"),
    [(300, int8, 44), (-1, uint8, 255), (-2.9, int32, -2), (3e9, int32, 2**31 - 1), (-3e9, int32, -(2**31)),
     (-1.0, uint8, 0), (math.nan, int64, 0), (math.inf, uint16, 65535), (1e6, float16, math.inf), (3, bool_, True),
     (0.0, bool_, False), (math.nan, bool_, True), (0.2, float8_e8m0fnu, 0.25),
     (1000, float8_e4m3fn, 448.0), (-1e9, float8_e5m2, -57344.0),
     (2**100, float32, 2.0**100), (2**24 + 1, float32, 2.0**24), (5.1, float4_e2m1fn, 6.0), (True, int16, 1)],
)
def test_convert_constant(value: float, dtype: DType, want: float) -> None:
    got = convert_constant(value, dtype)
    assert got == want and type(got) is type(want)


@pytest.mark.parametrize(
    ("value", "dtype"), [(-1, float8_e8m0fnu), (-0.0, float8_e8m0fnu), (math.nan, float4_e2m1fn)]
)
def test_convert_constant_refuses(value: float, dtype: DType) -> None:
    with pytest.raises(TileValueError):
        convert_constant(value, dtype)


def test_rounding_is_to_the_nearest_code() -> None:
    """Every value between two codes of a small format goes to the nearer one; a tie goes to the even code."""
    for dtype in (float8_e4m3fn, float8_e5m2, float4_e2m1fn):
        codes = [decode(c, dtype) for c in range(1 << (dtype.bitwidth - 1))]
        finite = [v for v in codes if math.isfinite(v)]
        for i, (low, high) in enumerate(itertools.pairwise(finite)):
            middle = (low + high) / 2
            assert round_to(middle, dtype) == (low if i % 2 == 0 else high)
            assert round_to(math.nextafter(middle, 0), dtype) == low
            assert round_to(-math.nextafter(middle, math.inf), dtype) == -high


def test_formats_without_a_sign_clamp_to_their_smallest_value() -> None:
    for value in (0.0, -0.0, -1.5, -math.inf):
        assert round_to(value, float8_e5m3fnu) == 0.0
        assert round_to(value, float8_e8m0fnu) == 2.0**-127


@pytest.mark.parametrize("source", [int8, uint8, int16, uint16], ids=str)
def test_casts_that_keep_every_integer(source: DType) -> None:
    """All integers of a dtype survive a cast to floats if, and only if, it is called exact."""
    numbers = range(source.int_range[0], source.int_range[1] + 1)
    for dtype in (bfloat16, float16, float32, float8_e4m3fn, float8_e5m2):
        kept = all(convert_constant(n, dtype) == n for n in numbers)
        assert exact_cast(source, dtype) == kept, dtype
