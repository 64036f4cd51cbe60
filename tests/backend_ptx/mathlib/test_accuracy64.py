"""float64 functions, simulated, against long double, on samples of every kind."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from support.math_functions import approximations_off, run
from support.thorough import THOROUGH

Array = Any
BOUNDS = {
    "exp": 2, "exp2": 2, "log": 2, "log2": 2, "sqrt": 0.5, "rsqrt": 2, "sin": 2, "cos": 2, "tanh": 2, "tan": 4,
    "sinh": 4, "cosh": 4, "asin": 2, "acos": 2, "atan": 2, "asinh": 4, "acosh": 4, "atanh": 4, "log1p": 2, "expm1": 2,
    "sigmoid": 4,
}
PAIRS = {"pow": 4, "atan2": 4, "truediv": 0.5}
REFERENCES: dict[str, Callable[..., Array]] = {
    "rsqrt": lambda v: 1 / np.sqrt(v), "pow": np.power, "atan2": np.arctan2, "truediv": np.divide,
    **{f"a{name}": getattr(np, f"arc{name}") for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    "sigmoid": lambda v: np.where(v < 0, np.exp(-np.abs(v)), 1) / (1 + np.exp(-np.abs(v))),
}
SPECIAL = (
    0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, -3.0, 1.5, -1.5, np.inf, -np.inf, np.nan, 2.0**-1074,
    -(2.0**-1074), 2.0**-1022, 1.7976931348623157e308, -1.7976931348623157e308, 2.0**53, 1e300, -1e300, 1e-300,
    709.782712893384, 709.7827128933841, -745.13, 710.475, -708.4, 2.0**30, 2.0**30 + 1.5, -(2.0**70), 1e22,
)

pytestmark = pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="long double is no wider than float64 here")


def samples() -> Array:
    rng = np.random.default_rng(5)
    n = 1 << (13 if THOROUGH else 12)
    anything = rng.integers(0, 1 << 64, n, np.uint64).view(np.float64)
    moderate = rng.uniform(-1, 1, n) * np.exp2(rng.integers(-40, 11, n))
    small = rng.uniform(-4, 4, n)
    large = rng.uniform(-1, 1, n) * np.exp2(rng.integers(11, 64, n))
    near_one = 1 + rng.uniform(-0.5, 0.5, n) * np.exp2(-rng.integers(0, 40, n).astype(float))
    return np.concatenate([anything, moderate, small, large, near_one, np.array(SPECIAL)])


def pairs(name: str) -> tuple[Array, Array]:
    rng = np.random.default_rng(6)
    x = samples()
    y = rng.permutation(x)
    a, b = np.meshgrid(np.array(SPECIAL), np.array(SPECIAL))
    if name == "pow":  # exponents with a finite result as well
        with np.errstate(all="ignore"):
            powers = rng.uniform(-1080, 1080, len(x)) / np.log2(np.abs(x))
        x, y = np.concatenate([x, x, x]), np.concatenate([y, powers, np.rint(powers)])
    return np.concatenate([x, a.ravel()]), np.concatenate([y, b.ravel()])


def check(name: str, bound: float, *args: Array) -> None:
    with approximations_off(0.5):
        got = run(name, *args)
    function = REFERENCES.get(name) or getattr(np, name)
    with np.errstate(all="ignore"):
        exact = function(*(a.astype(np.longdouble) for a in args))
        best = exact.astype(np.float64)
        _, exponent = np.frexp(exact)
        unit = np.ldexp(np.longdouble(1), np.maximum(exponent, -1021) - 53)
        error = np.where(np.isfinite(got) & np.isfinite(best), np.abs(got.astype(np.longdouble) - exact) / unit, 0)
    wrong = np.isnan(got) != np.isnan(best)
    wrong |= (got == 0) & (best == 0) & (np.signbit(got) != np.signbit(best))
    wrong |= (np.isinf(got) != np.isinf(best)) & (np.abs(np.where(np.isinf(got), best, got)) < 1.79769313486231e308)
    assert not wrong.any(), [(tuple(a[i] for a in args), got[i], best[i]) for i in np.flatnonzero(wrong)[:5]]
    i = int(error.argmax())
    # Long double itself is off by a part of 2**-11 ulp.
    assert error[i] <= bound + 0.01, f"{error[i]:.3f} ulp at {[a[i] for a in args]}: {got[i]}, not {best[i]}"


@pytest.mark.parametrize("name", BOUNDS)
def test_function(name: str) -> None:
    check(name, BOUNDS[name], samples())


@pytest.mark.parametrize("name", PAIRS)
def test_pairs(name: str) -> None:
    check(name, PAIRS[name], *pairs(name))


@pytest.mark.parametrize("name", ["erf", "erfc"])
def test_error_function(name: str) -> None:
    """Against mpmath, as NumPy has none: within 2 ulp and 4."""
    rng = np.random.default_rng(7)
    x = np.concatenate([rng.uniform(-1, 1, 300) * np.exp2(-rng.uniform(0, 60, 300)), rng.uniform(-6, 6, 600),
                        rng.uniform(0, 28, 300), [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 27.3, -27.3, 1e300]])
    with approximations_off(0.5):
        results = run(name, x)
    for v, got in zip(x.tolist(), results.tolist(), strict=True):
        if not abs(v) <= 30:
            want = v if v != v else float(getattr(math, name)(v))
            assert got == want or (got != got and v != v), (v, got)
            continue
        with mpmath.workprec(200):
            exact = getattr(mpmath, name)(mpmath.mpf(v))
            unit = mpmath.ldexp(1, max(mpmath.frexp(exact)[1], -1021) - 53)
            assert abs(got - exact) <= (2 if name == "erf" else 4) * unit, (v, got)
