"""Element-wise arithmetic against exact rational arithmetic and Python integers."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.interp_cases import (
    TILE,
    apply,
    array_dtype,
    assert_same,
    compile_function,
    elementwise,
    round_exact,
    samples,
    wrap,
)

from tilewright.tileir import dtypes as dt
from tilewright.tileir.enums import RoundingMode
from tilewright.tileir.ops import arith
from tilewright.tileir.ops import math as tile_math

INTS = [dt.int8, dt.int16, dt.int32, dt.int64, dt.uint8, dt.uint16, dt.uint32, dt.uint64]
FLOATS = [dt.float16, dt.bfloat16, dt.float32, dt.float64]
MODES = [RoundingMode.RN, RoundingMode.RZ, RoundingMode.RM, RoundingMode.RP]
N = 1500


# NumPy warns where the references (not the interpreter, see test_program) convert NaNs.
pytestmark = pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")


def expected(exact: Any, special: Any, dtype: dt.DType, mode: RoundingMode, *args: np.ndarray) -> np.ndarray:
    """Reference of an operation: `exact` on fractions where all operands are finite, else `special` on doubles.

    `exact` returns None where IEEE arithmetic has no number (then `special` answers) and 0 for an exact zero."""
    with np.errstate(all="ignore"):
        columns = [a.astype(np.float64) for a in args]
    out = np.empty(len(args[0]), np.float64)
    for i in range(len(out)):
        values = [float(c[i]) for c in columns]
        with np.errstate(all="ignore"):
            fallback = float(special(*map(np.float64, values)))
        result = exact(*map(Fraction, values)) if all(map(math.isfinite, values)) else None
        if result is None:
            out[i] = fallback
        elif result == 0:
            cancelled = fallback == 0 and not math.copysign(1, fallback) < 0 and mode is RoundingMode.RM
            same_zeros = len(values) == 2 and values[0] == 0 == values[1]
            positive = same_zeros and math.copysign(1, values[0]) == math.copysign(1, fallback)
            out[i] = -0.0 if cancelled and special in (ADD, SUB, FMA) and not positive else fallback
        else:
            out[i] = round_exact(result, dtype, mode)
    return out.astype(np.float32).astype(array_dtype(dtype)) if dtype is not dt.float64 else out


def ADD(a: Any, b: Any) -> Any:
    return a + b


def SUB(a: Any, b: Any) -> Any:
    return a - b


def MUL(a: Any, b: Any) -> Any:
    return a * b


def DIV(a: Any, b: Any) -> Any:
    return a / b


def FMA(a: Any, b: Any, c: Any) -> Any:
    if np.isfinite(a) and np.isfinite(b) and np.isinf(c):
        return c
    return a * b + c


def exact_div(a: Fraction, b: Fraction) -> Fraction | None:
    return a / b if b else None


CASES = [(arith.Add, ADD, ADD), (arith.Sub, SUB, SUB), (arith.Mul, MUL, MUL), (arith.Div, exact_div, DIV)]


@pytest.mark.parametrize("mode", MODES, ids=lambda m: m.name)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op, exact, special", CASES)
def test_float_operations_are_correctly_rounded(op: Any, exact: Any, special: Any, dtype: Any, mode: Any) -> None:
    a, b = samples(dtype, N, 1), samples(dtype, N, 2)
    got = apply(lambda x, y: op(lhs=x, rhs=y, rounding=mode), a, b)
    want = expected(exact, special, dtype, mode, a, b)
    if mode is RoundingMode.RM and op in (arith.Add, arith.Sub):
        with np.errstate(all="ignore"):
            zeros = (a == 0) & (b == 0)
        assert_same(got[~zeros], want[~zeros], a[~zeros], b[~zeros])
        plus = zeros & ~np.signbit(a) & (np.signbit(b) == (op is arith.Sub))
        assert not np.signbit(got[plus]).any() and np.signbit(got[zeros & ~plus]).all()
        return
    assert_same(got, want, a, b)


@pytest.mark.parametrize("mode", MODES, ids=lambda m: m.name)
@pytest.mark.parametrize("dtype", FLOATS)
def test_fma_rounds_once(dtype: Any, mode: Any) -> None:
    a, b, c = (samples(dtype, N, s) for s in (3, 4, 5))
    # Near-cancellation and ties: c close to -a*b, and c tiny beside a product that ends on a tie.
    with np.errstate(all="ignore"):
        c[: N // 3] = (-(a[: N // 3].astype(np.float64) * b[: N // 3].astype(np.float64))).astype(c.dtype)
    info = ml_dtypes.finfo(a.dtype)
    a[-40:] = (1 + float(info.eps) * np.arange(1, 41)).astype(a.dtype)
    b[-40:] = np.array(1.5, b.dtype)
    c[-40:] = (np.array(info.smallest_subnormal) * np.array([1, -1] * 20, a.dtype)).astype(a.dtype)
    got = apply(lambda x, y, z: arith.Fma(a=x, b=y, c=z, rounding=mode), a, b, c)
    want = expected(lambda x, y, z: x * y + z, FMA, dtype, mode, a, b, c)
    nonzero = want != 0
    assert_same(got[nonzero], want[nonzero], a[nonzero], b[nonzero], c[nonzero])
    assert (got[~nonzero] == 0).all()


@pytest.mark.parametrize("mode", MODES, ids=lambda m: m.name)
@pytest.mark.parametrize("dtype", FLOATS)
def test_sqrt_is_correctly_rounded(dtype: Any, mode: Any) -> None:
    a = samples(dtype, N, 6)
    got = apply(lambda x: tile_math.Sqrt(src=x, rounding=mode), a)
    want = np.empty(N, np.float64)
    for i, x in enumerate(a.astype(np.float64)):
        if not (x > 0 and math.isfinite(x)):
            want[i] = math.nan if not x >= 0 else x
            continue
        # The root to 300 bits, with a sticky bit, rounds as the exact root does.
        scaled = Fraction(x) * 4**700
        root = math.isqrt(scaled.numerator // scaled.denominator)
        sticky = Fraction(root * root) != scaled
        want[i] = round_exact((Fraction(root) + (Fraction(1, 2) if sticky else 0)) / 2**700, dtype, mode)
    assert_same(got, want if dtype is dt.float64 else want.astype(np.float32).astype(a.dtype), a)


def test_flush_to_zero() -> None:
    tiny, normal = np.float32(1e-40), np.float32(2.0**-126)
    a = np.array([tiny, -tiny, normal, 1, -0.0], np.float32)
    b = np.array([1, 1, -normal * 1.5, tiny, tiny], np.float32)
    got = apply(lambda x, y: arith.Add(lhs=x, rhs=y, ftz=True), a, b)
    assert_same(got, np.array([1, 1, -0.0, 1, 0.0], np.float32))
    got = apply(lambda x, y: arith.Mul(lhs=x, rhs=y, ftz=True), a, np.full(5, 0.5, np.float32))
    assert_same(got, np.array([0, -0.0, 0, 0.5, -0.0], np.float32))


# --- integers --------------------------------------------------------------------------------------------------------


INTEGER: dict[str, Any] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b, "cdiv": lambda a, b: -(-a // b), "mod": lambda a, b: a % b,
    "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b, "min": min, "max": max,
}


def int_reference(name: str, a: int, b: int, dtype: dt.DType) -> int | None:
    """The exact result; None where it is undefined."""
    if name in ("shl", "shr"):
        count = b % dtype.bitwidth
        return a << count if name == "shl" else a >> count
    if name in ("floordiv", "cdiv", "mod") and (b == 0 or (dtype.is_signed and a == dtype.int_range[0] and b == -1)):
        return None
    return int(INTEGER[name](a, b))


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("op", [arith.Add, arith.Sub, arith.Mul, arith.FloorDiv, arith.CeilDiv, arith.Mod, arith.And,
                                arith.Or, arith.Xor, arith.Shl, arith.Shr, arith.Min, arith.Max])
def test_integer_operations_wrap(op: Any, dtype: Any) -> None:
    a, b = samples(dtype, N, 7), samples(dtype, N, 8)
    got = apply(lambda x, y: op(lhs=x, rhs=y), a, b)
    for x, y, g in zip(a.tolist(), b.tolist(), got.tolist(), strict=True):
        want = int_reference(op.opcode, x, y, dtype)
        if want is not None:
            assert g == wrap(want, dtype), (op.opcode, x, y)


@pytest.mark.parametrize("dtype", [dt.int8, dt.int32, dt.uint16, dt.int64])
@pytest.mark.parametrize("op", [arith.FloorDiv, arith.Mod])
@pytest.mark.parametrize("divisor", [1, 2, 8, 7])
def test_division_by_constants(op: Any, dtype: Any, divisor: int) -> None:
    a = samples(dtype, N, 9)
    got = divide_by(op, a, divisor, dtype)
    want = [int_reference(op.opcode, x, divisor, dtype) for x in a.tolist()]
    assert got.tolist() == want


def divide_by(op: type[arith.Binary], a: np.ndarray, divisor: int, dtype: dt.DType) -> np.ndarray:
    function = elementwise(lambda x: op(lhs=x, rhs=x), [dtype], dtype)
    ops = function.body.ops
    at, division = next((i, o) for i, o in enumerate(ops) if isinstance(o, op))
    constant = arith.Constant(value=divisor, type=division.lhs.type)
    division.rhs = constant.result
    ops.insert(at, constant)
    out = np.zeros_like(a)
    compile_function(function).run((-(-len(a) // TILE), 1, 1), [a, out])
    return out


@pytest.mark.parametrize("dtype", [dt.int8, dt.int32, dt.uint32, dt.int64])
def test_integer_powers(dtype: Any) -> None:
    base, n = samples(dtype, N, 10), samples(dt.int32, N, 11) % 40
    n[: N // 4] -= 39
    got = apply(lambda x, y: arith.Pow(lhs=x, rhs=y), base, n)
    for x, k, g in zip(base.tolist(), n.tolist(), got.tolist(), strict=True):
        want = x**k if k >= 0 else (x**-k if abs(x) == 1 else 0)
        assert g == wrap(want, dtype), (x, k)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_a_half_as_exponent_is_no_square_root(dtype: Any) -> None:
    """pow(-0.0, 0.5) is 0.0 and pow(-inf, 0.5) is inf, also where NumPy sees one exponent for all and takes roots."""
    x = np.zeros(TILE, array_dtype(dtype))
    x[:6] = -0.0, -np.inf, 0.0, np.inf, 4.0, -1.0
    want = np.zeros_like(x)
    want[:6] = 0.0, np.inf, 0.0, np.inf, 2.0, np.nan
    function = elementwise(lambda a, b: arith.Pow(lhs=a, rhs=b), [dtype, dtype], dtype)
    at, power = next((i, op) for i, op in enumerate(function.body.ops) if isinstance(op, arith.Pow))
    half = arith.Constant(value=0.5, type=power.lhs.type)
    power.rhs = half.result
    function.body.ops.insert(at, half)
    out = np.zeros_like(x)
    compile_function(function).run((1, 1, 1), [x, x, out])
    assert_same(out, want)


# --- minimum, maximum, comparison ------------------------------------------------------------------------------------


@pytest.mark.parametrize("propagate", [False, True])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op, pick", [(arith.Min, min), (arith.Max, max)])
def test_extremes_follow_the_nan_and_zero_rules(op: Any, pick: Any, dtype: Any, propagate: bool) -> None:
    values = np.array([0.0, -0.0, 1, -1, np.nan, np.inf, -np.inf, 2.5], array_dtype(dtype))
    a, b = (v.ravel().copy() for v in np.meshgrid(values, values))
    got = apply(lambda x, y: op(lhs=x, rhs=y, propagate_nan=propagate), a, b)
    for x, y, g in zip(a.astype(float), b.astype(float), got.astype(float), strict=True):
        if math.isnan(x) or math.isnan(y):
            want = math.nan if propagate or (math.isnan(x) and math.isnan(y)) else (y if math.isnan(x) else x)
        else:
            want = pick((x, y), key=lambda v: (v, math.copysign(1, v)))
        same = g == want and math.copysign(1, g) == math.copysign(1, want)
        assert same or (math.isnan(g) and math.isnan(want)), (x, y)


@pytest.mark.parametrize("dtype", [*FLOATS, dt.int32, dt.uint64, dt.bool_, dt.float8_e4m3fn, dt.float8_e5m2])
def test_comparisons(dtype: Any) -> None:
    a, b = samples(dtype, N, 12), samples(dtype, N, 13)
    b[::5] = a[::5]
    wide = object if dtype.is_int else np.float64
    x, y = a.astype(wide), b.astype(wide)
    for op, want in ((arith.Eq, x == y), (arith.Ne, x != y), (arith.Lt, x < y), (arith.Le, x <= y), (arith.Gt, x > y),
                     (arith.Ge, x >= y)):
        got = apply(lambda p, q, op=op: op(lhs=p, rhs=q), a, b, output=dt.bool_)
        assert_same(got, want.astype(bool), a, b)


@pytest.mark.parametrize("dtype", FLOATS)
def test_mod_and_floordiv_of_floats(dtype: Any) -> None:
    a, b = samples(dtype, N, 14), samples(dtype, N, 15)
    ok = np.isfinite(a.astype(float)) & np.isfinite(b.astype(float)) & (b != 0)
    a, b = a[ok], b[ok]
    got = apply(lambda x, y: arith.Mod(lhs=x, rhs=y), a, b)
    want = [x % y for x, y in zip(map(Fraction, a.astype(float)), map(Fraction, b.astype(float)), strict=True)]
    for g, w, y in zip(got.astype(float), want, b.astype(float), strict=True):
        rounded = round_exact(w, dtype, RoundingMode.RN) if w else 0.0
        assert g == rounded or abs(g - rounded) <= abs(rounded) * 2 * float(ml_dtypes.finfo(a.dtype).eps), (g, w, y)
    quotient = apply(lambda x, y: arith.Div(lhs=x, rhs=y), a, b)
    got = apply(lambda x, y: arith.FloorDiv(lhs=x, rhs=y), a, b)
    assert_same(got, np.floor(quotient.astype(np.float64)).astype(a.dtype), a, b)


def test_small_quotients_and_products_of_bfloat16_are_rounded_once() -> None:
    """Where float32 has fewer bits, too: its own rounding takes none of these over a tie."""
    left, right = (m.reshape(-1) for m in np.meshgrid(np.arange(128, 256), np.arange(128, 256), indexing="ij"))
    for power in range(9):
        a = (left * 2.0 ** (power - 66)).astype(ml_dtypes.bfloat16)
        for cls, b, number, parts in (
            (arith.Div, right * 2.0**72, left << power, right << 5),
            (arith.Mul, right * 2.0**-86, left * right, 1 << 19 - power)):
            got = apply(lambda x, y, cls=cls: cls(lhs=x, rhs=y), a, b.astype(ml_dtypes.bfloat16), output=dt.bfloat16)
            whole, rest = number // parts, 2 * (number % parts)
            want = whole + ((rest > parts) | ((rest == parts) & (whole % 2 == 1)))
            assert np.array_equal(got.astype(np.float64) * 2.0**133, want)
