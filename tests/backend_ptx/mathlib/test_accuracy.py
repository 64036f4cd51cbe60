"""float32 functions, simulated: within their bounds on dense samples, with approximations off by what they may be."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.math_functions import approximations_off, run

Array = Any


def of_numbers(function: Callable[[float], float]) -> Callable[[Array], Array]:
    """A function of Python's `math`, which NumPy lacks, of each element."""
    return lambda v: np.array([function(x) for x in v.ravel().tolist()]).reshape(v.shape)


# The bound in ulp, and by how many ulp ex2, rcp and rsqrt may be off for the function to keep it. The hardware's
# measured errors are in the table that test_gpu_accuracy.py prints.
BOUNDS = {
    "exp": (2, 0.5), "exp2": (2, 1), "log": (2, 0), "log2": (2, 0), "sqrt": (0, 0), "rsqrt": (2, 1), "sin": (2, 0),
    "cos": (2, 0), "tanh": (2, 1), "tan": (4, 1), "sinh": (4, 1), "cosh": (4, 1), "asin": (2, 0), "acos": (2, 0),
    "atan": (2, 0), "asinh": (4, 0), "acosh": (4, 0), "atanh": (4, 0), "log1p": (2, 0), "expm1": (2, 0),
    "erf": (2, 0.5), "erfc": (4, 0.5), "sigmoid": (4, 0.5),
}
PAIRS = {"pow": (4, 1), "atan2": (4, 0), "truediv": (0, 0)}
REFERENCES: dict[str, Callable[..., Array]] = {
    "rsqrt": lambda v: 1 / np.sqrt(v), "pow": np.power, "atan2": np.arctan2, "truediv": np.divide,
    **{f"a{name}": getattr(np, f"arc{name}") for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    "erf": of_numbers(math.erf), "erfc": of_numbers(math.erfc),
    "sigmoid": lambda v: np.where(v < 0, np.exp(-np.abs(v)), 1) / (1 + np.exp(-np.abs(v))),
}
SPECIAL = (
    0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, -3.0, 1.5, -1.5, math.inf, -math.inf, math.nan, 2.0**-149,
    -(2.0**-149), 2.0**-126, 3.4028234663852886e38, -3.4028234663852886e38, 16777216.0, 16777217.0, -8388607.5, 1e30,
    -1e-30, 1 - 2.0**-24, 1 + 2.0**-23, 127.0, 128.0, -149.0, -126.0, 105615.0, 105616.0, 88.72283, 88.72284, -103.97,
)


def reference(name: str, *args: Array) -> Array:
    function = REFERENCES.get(name) or getattr(np, name)
    with np.errstate(all="ignore"):
        return function(*(a.astype(np.float64) for a in args))


def samples() -> Array:
    """Every exponent and sign with 2**10 mantissas, the arguments from 0.5 to 8 four times as dense, special values."""
    exponents = np.arange(512, dtype=np.uint32)[:, None] << 23
    mantissas = (np.arange(1 << 10, dtype=np.uint32) * np.uint32(8191)) & np.uint32(0x7FFFFF)
    dense = np.arange(0x3F000000, 0x41000000, 521, dtype=np.uint32)
    bits = np.concatenate([(exponents | mantissas).ravel(), dense, dense | np.uint32(0x80000000)])
    return np.concatenate([bits.view(np.float32), np.array(SPECIAL, np.float32)])


def pairs() -> tuple[Array, Array]:
    rng = np.random.default_rng(3)
    n = 1 << 16
    x = rng.integers(0, 1 << 32, n, np.uint32).view(np.float32)
    near = rng.uniform(0.5, 2, n).astype(np.float32)
    wanted = rng.uniform(-150, 150, n)
    with np.errstate(all="ignore"):
        powers = (wanted / np.log2(np.abs(x))).astype(np.float32)
        small = (wanted / np.log2(near)).astype(np.float32)
        scaled = x * rng.uniform(-4, 4, n).astype(np.float32)
    a, b = np.meshgrid(np.array(SPECIAL, np.float32), np.array(SPECIAL, np.float32))
    other = rng.integers(0, 1 << 32, n, np.uint32).view(np.float32)
    first = np.concatenate([x, x, x, near, x, a.ravel()])
    return first, np.concatenate([other, powers, np.rint(powers), small, scaled, b.ravel()])


def ordered(x: Array) -> Array:
    """float32 as integers in the order of the values."""
    bits = x.view(np.int32).astype(np.int64)
    return np.where(bits < 0, -(bits & 0x7FFFFFFF), bits)


def check(got: Array, exact: Array, bound: int, args: tuple[Array, ...]) -> None:
    with np.errstate(all="ignore"):
        best = exact.astype(np.float32)
    assert got.dtype == np.float32
    nan = np.isnan(best)
    wrong = (np.isnan(got) != nan) | ((got == 0) & (best == 0) & (np.signbit(got) != np.signbit(best)))
    assert not wrong.any(), [(tuple(a[i] for a in args), got[i], best[i]) for i in np.flatnonzero(wrong)[:5]]
    steps = np.where(nan, 0, np.abs(ordered(got) - ordered(best)))
    i = int(steps.argmax())
    assert steps[i] <= bound, f"{steps[i]} steps at {[a[i] for a in args]}: {got[i]}, not {best[i]}"


@pytest.mark.parametrize("name", BOUNDS)
def test_function(name: str) -> None:
    x = samples()
    bound, off = BOUNDS[name]
    with approximations_off(off):
        got = run(name, x)
    check(got, reference(name, x), bound, (x,))


@pytest.mark.parametrize("name", ["exp_relative", "exp_flushed", "exp2_flushed", "sigmoid_relative", "sigmoid_flushed"])
def test_short_forms(name: str) -> None:
    """Within 64 ulp, and those that flush zero below 2**-126."""
    x = samples()
    with approximations_off(2):
        got = run(name, x)
    exact = reference(name.split("_")[0], x)
    if "flushed" in name:
        assert not got[exact < 2.0**-126].any()
        exact[exact < 2.0**-126] = 0
    check(got, exact, 64, (x,))


@pytest.mark.parametrize(("name", "least", "most", "bound"), [
    ("quotient_normal", 2.0**-126, 2.0**126, 3), ("quotient_from_one", 1.0, math.inf, 3)])
def test_short_quotients(name: str, least: float, most: float, bound: int) -> None:
    """Of all dividends, by divisors that are in their range; NaN lies in each."""
    x, y = pairs()
    inside = (y >= least) & (y <= most) | np.isnan(y)
    x, y = x[inside], y[inside]
    with approximations_off(1):
        got = run(name, x, y)
    check(got, reference("truediv", x, y), bound, (x, y))


def test_error_function_beside_one() -> None:
    """Sums and differences of one and it: within 128 ulp or 2**-22; zeros and infinities are exact, NaN stays."""
    x = samples()
    x = x[~np.isnan(x)]
    with approximations_off(2):
        got, undefined = run("erf_beside_one", x), run("erf_beside_one", np.array([np.nan], np.float32))
    for sign in (1, -1):
        want = reference("erfc", -sign * x).astype(np.float64)
        error = np.abs(1 + sign * got.astype(np.float64) - want)
        assert (error <= np.maximum(2.0**-16 * want, 2.0**-22)).all()
    exact = np.isinf(x) | (x == 0)
    np.testing.assert_array_equal(got[exact], reference("erf", x[exact]))
    assert (np.signbit(got) == np.signbit(x)).all() and np.isnan(undefined).all()


@pytest.mark.parametrize("name", PAIRS)
def test_pairs(name: str) -> None:
    x, y = pairs()
    bound, off = PAIRS[name]
    with approximations_off(off):
        got = run(name, x, y)
    check(got, reference(name, x, y), bound, (x, y))


@pytest.mark.parametrize("name", ["exp", "exp2", "log2", "sin", "tan", "tanh", "rsqrt", "erf", "erfc", "log1p", "expm1",
                                  "asin", "acos", "atan", "asinh", "acosh", "atanh", "sigmoid"])
def test_half_is_rounded_once(name: str) -> None:
    x = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    with np.errstate(all="ignore"):
        best = reference(name, x).astype(np.float32).astype(np.float16)
    got = run(name, x)
    wrong = (got.view(np.uint16) != best.view(np.uint16)) & ~(np.isnan(got) & np.isnan(best))
    # float32 is not exact, so now and then a result near the middle of two halves goes the other way.
    assert wrong.mean() < 2e-3
    assert np.all(np.abs(got[wrong].view(np.int16).astype(int) - best[wrong].view(np.int16)) <= 1)


def test_bound_can_fail() -> None:
    """The check is worth something: a slightly wrong exponential does not pass."""
    x = samples()
    with np.errstate(all="ignore"):
        wrong = np.exp(x * np.float32(1 + 2.0**-22))
    with pytest.raises(AssertionError, match="steps at"):
        check(wrong, reference("exp", x), 2, (x,))
