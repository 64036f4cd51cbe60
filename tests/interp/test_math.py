"""Element-wise functions against mpmath, special values included."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import mpmath
import numpy as np
import pytest
from support.interp_cases import apply, array_dtype, assert_same, samples

from tilewright.tileir import dtypes as dt
from tilewright.tileir.ops import arith
from tilewright.tileir.ops import math as ops

pytestmark = pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
FLOATS = [dt.float16, dt.bfloat16, dt.float32, dt.float64]
N = 800
FUNCTIONS: dict[Any, Any] = {
    ops.Exp: mpmath.exp, ops.Exp2: lambda x: mpmath.power(2, x), ops.Log: mpmath.log,
    ops.Log2: lambda x: mpmath.log(x, 2),
    ops.Rsqrt: lambda x: 1 / mpmath.sqrt(x), ops.Sin: mpmath.sin, ops.Cos: mpmath.cos, ops.Tan: mpmath.tan,
    ops.Sinh: mpmath.sinh, ops.Cosh: mpmath.cosh, ops.Tanh: mpmath.tanh, ops.Atan: mpmath.atan,
    ops.Asinh: mpmath.asinh, ops.Log1p: mpmath.log1p, ops.Erf: mpmath.erf,
    ops.Erfc: lambda x: mpmath.erfc(max(min(x, 1000), -1000)),
    ops.Sigmoid: lambda x: 1 / (1 + mpmath.exp(-max(min(x, 2000), -2000))),
}
POSITIVE = (ops.Log, ops.Log2, ops.Rsqrt, ops.Log1p)


def ulp(value: float, dtype: dt.DType) -> float:
    info = ml_dtypes.finfo(array_dtype(dtype))
    magnitude = max(abs(value), float(info.smallest_normal))
    return 2.0 ** math.floor(math.log2(magnitude)) * float(info.eps)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", FUNCTIONS)
def test_functions_are_within_their_bound(op: Any, dtype: Any) -> None:
    x = samples(dtype, N, 1)
    x[: N // 2] = (np.random.default_rng(2).standard_normal(N // 2) * 20).astype(x.dtype)
    if op in POSITIVE:
        x = np.abs(x)
    x = x[np.isfinite(x.astype(np.float64)) & (x != 0)]
    got = apply(lambda t: op(src=t), x).astype(np.float64)
    largest = float(ml_dtypes.finfo(x.dtype).max)
    # Narrower than float64: one rounding of a double that is off by about one unit in 2**-52. float64: 2 ulp.
    allowed = 2.0 if dtype is dt.float64 else 0.5 + 2.0**-20
    mpmath.mp.prec = 120
    for v, g in zip(x.astype(np.float64).tolist(), got.tolist(), strict=True):
        huge = op in (ops.Exp, ops.Exp2, ops.Sinh, ops.Cosh) and abs(v) > 2000
        if huge:
            sign = -1 if op is ops.Sinh and v < 0 else 1
            assert g == (sign * math.inf if v > 0 or op in (ops.Sinh, ops.Cosh) else 0.0), v
            continue
        mpmath.mp.prec = 1200 if abs(v) > 1e15 else 120  # arguments of periodic functions
        want = FUNCTIONS[op](mpmath.mpf(v))
        if abs(want) >= largest:
            assert abs(g) >= largest, v
        else:
            assert abs(mpmath.mpf(g) - want) <= allowed * ulp(float(want), dtype), (v, g, float(want))


@pytest.mark.parametrize("dtype", FLOATS)
def test_special_values(dtype: Any) -> None:
    inf, nan = math.inf, math.nan
    x = np.array([0.0, -0.0, inf, -inf, nan, -1.0], array_dtype(dtype))
    table: dict[Any, list[float]] = {
        ops.Exp: [1, 1, inf, 0, nan], ops.Exp2: [1, 1, inf, 0, nan, 0.5], ops.Log: [-inf, -inf, inf, nan, nan, nan],
        ops.Log2: [-inf, -inf, inf, nan, nan, nan], ops.Rsqrt: [inf, -inf, 0, nan, nan, nan],
        ops.Sqrt: [0, -0.0, inf, nan, nan, nan], ops.Sin: [0, -0.0, nan, nan, nan], ops.Tanh: [0, -0.0, 1, -1, nan],
        ops.Floor: [0, -0.0, inf, -inf, nan, -1], ops.Ceil: [0, -0.0, inf, -inf, nan, -1],
        ops.Round: [0, -0.0, inf, -inf, nan, -1], ops.Erf: [0, -0.0, 1, -1, nan], ops.Erfc: [1, 1, 0, 2, nan],
        ops.Log1p: [0, -0.0, inf, nan, nan, -inf], ops.Expm1: [0, -0.0, inf, -1, nan],
        ops.Asin: [0, -0.0, nan, nan, nan], ops.Atanh: [0, -0.0, nan, nan, nan, -inf],
        ops.Asinh: [0, -0.0, inf, -inf, nan], ops.Acosh: [nan, nan, inf, nan, nan, nan],
        ops.Sigmoid: [0.5, 0.5, 1, 0, nan],
        ops.Neg: [-0.0, 0, -inf, inf, nan, 1], ops.Abs: [0, 0, inf, inf, nan, 1],
    }
    for op, want in table.items():
        got = apply(lambda t, op=op: op(src=t), x)[: len(want)]
        assert_same(got, np.array(want, array_dtype(dtype)), x)
    assert apply(lambda t: ops.IsNan(src=t), x, output=dt.bool_).tolist() == [False] * 4 + [True, False]
    assert apply(lambda t: ops.IsInf(src=t), x, output=dt.bool_).tolist() == [False, False, True, True, False, False]
    assert apply(lambda t: ops.IsFinite(src=t), x, output=dt.bool_).tolist() == [True, True, False, False, False, True]


@pytest.mark.parametrize("dtype", FLOATS)
def test_floor_and_ceil(dtype: Any) -> None:
    x = samples(dtype, N, 3)
    with np.errstate(all="ignore"):
        wide = x.astype(np.float64)
    assert_same(apply(lambda t: ops.Floor(src=t), x), np.floor(wide).astype(x.dtype), x)
    assert_same(apply(lambda t: ops.Ceil(src=t), x), np.ceil(wide).astype(x.dtype), x)


@pytest.mark.parametrize("dtype", [dt.int8, dt.int64, dt.uint16])
def test_integer_unaries(dtype: Any) -> None:
    x = samples(dtype, N, 4)
    mask = (1 << dtype.bitwidth) - 1
    low = dtype.int_range[0]
    for op, fn in ((ops.Neg, lambda v: -v), (ops.Abs, abs), (ops.Not, lambda v: ~v)):
        got = apply(lambda t, op=op: op(src=t), x)
        assert got.tolist() == [((fn(v) - low) & mask) + low for v in x.tolist()]


def test_not_of_bools() -> None:
    x = np.array([True, False, True])
    assert apply(lambda t: ops.Not(src=t), x).tolist() == [False, True, False]


@pytest.mark.parametrize("dtype", FLOATS)
def test_float_powers_and_angles(dtype: Any) -> None:
    rng = np.random.default_rng(5)
    a = np.abs(rng.standard_normal(N)).astype(array_dtype(dtype)) + np.array(0.1, array_dtype(dtype))
    b = (rng.standard_normal(N) * 3).astype(a.dtype)
    allowed = 2.0 if dtype is dt.float64 else 0.5 + 2.0**-16
    mpmath.mp.prec = 120
    for op, fn in ((arith.Pow, mpmath.power), (arith.Atan2, mpmath.atan2)):
        got = apply(lambda x, y, op=op: op(lhs=x, rhs=y), a, b).astype(np.float64)
        for x, y, g in zip(a.astype(float).tolist(), b.astype(float).tolist(), got.tolist(), strict=True):
            want = fn(mpmath.mpf(x), mpmath.mpf(y))
            if abs(want) >= float(ml_dtypes.finfo(a.dtype).max):
                assert math.isinf(g)
                continue
            assert abs(mpmath.mpf(g) - want) <= allowed * ulp(float(want), dtype), (op, x, y)


def test_powers_of_floats_by_integers_multiply() -> None:
    a, n = np.array([2.0, -3.0, 0.5, 10.0, 0.0], np.float32), np.array([10, 3, -4, -2, 0], np.int32)
    got = apply(lambda x, y: arith.Pow(lhs=x, rhs=y), a, n)
    assert_same(got, np.array([1024, -27, 16, np.float32(1) / np.float32(100), 1], np.float32))


DENSE: dict[Any, Any] = {
    ops.Exp: np.exp, ops.Exp2: np.exp2, ops.Log: np.log, ops.Log2: np.log2, ops.Sqrt: np.sqrt, ops.Sin: np.sin,
    ops.Cos: np.cos, ops.Tanh: np.tanh, ops.Rsqrt: lambda x: 1 / np.sqrt(x),
}


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 60, reason="long double is no wider than double here")
@pytest.mark.parametrize("op", DENSE)
def test_float32_functions_over_the_whole_range(op: Any) -> None:
    """Every 4099th float32, finite: within 2 ulp is asked for; rounding once from float64 gives half a ulp."""
    x = np.arange(0, 1 << 32, 4099, dtype=np.uint64).astype(np.uint32).view(np.float32)
    x = x[np.isfinite(x)]
    got = apply(lambda t: op(src=t), x)
    with np.errstate(all="ignore"):
        want = DENSE[op](x.astype(np.longdouble))
        nearest = want.astype(np.float32)
        unit = np.spacing(np.maximum(np.abs(nearest), np.float32(2.0**-126))).astype(np.longdouble)
        error = np.abs(got.astype(np.longdouble) - want) / unit
    finite = np.isfinite(nearest)
    assert_same(got[~finite], nearest[~finite], x[~finite])
    assert error[finite].max() < 0.5 + 2.0**-20
