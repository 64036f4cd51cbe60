"""How near results must be: units in the last place, with infinity as the step above the largest number."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from catalogue.case import compare, ulps

DTYPES = (np.float16, np.float32, np.float64, ml_dtypes.bfloat16)


def of(dtype: Any, *numbers: float) -> np.ndarray:
    return np.array(numbers, np.float64).astype(dtype)


def below_largest(dtype: Any, steps: int) -> np.ndarray:
    largest = of(dtype, float(ml_dtypes.finfo(dtype).max))
    word = np.dtype(f"u{largest.itemsize}")
    return (largest.view(word) - word.type(steps)).view(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
def test_infinity_is_one_step_above_the_largest_number(dtype: Any) -> None:
    inf, largest = of(dtype, np.inf), below_largest(dtype, 0)
    for sign in (1, -1):
        compare(inf * of(dtype, sign), largest * of(dtype, sign), ulps(1, dtype), "overflow")
        compare(largest * of(dtype, sign), inf * of(dtype, sign), ulps(1, dtype), "no overflow")
    compare(below_largest(dtype, 2), inf, ulps(3, dtype), "no overflow")
    with pytest.raises(AssertionError):
        compare(below_largest(dtype, 2), inf, ulps(2, dtype), "no overflow")


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
def test_infinity_is_far_from_other_numbers(dtype: Any) -> None:
    largest = float(ml_dtypes.finfo(dtype).max)
    for got, want in ((np.inf, -np.inf), (np.inf, largest / 2), (largest / 2, np.inf), (np.inf, 0), (0, np.inf),
                      (np.inf, -largest), (-largest, np.inf), (np.nan, np.inf)):
        with pytest.raises(AssertionError):
            compare(of(dtype, got), of(dtype, want), ulps(4, dtype), "far")


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
def test_steps_of_finite_numbers(dtype: Any) -> None:
    eps = float(ml_dtypes.finfo(dtype).eps)
    compare(of(dtype, 1 + 2 * eps, 0, np.nan), of(dtype, 1, 0, np.nan), ulps(2, dtype), "near")
    with pytest.raises(AssertionError):
        compare(of(dtype, 1 + 3 * eps), of(dtype, 1), ulps(2, dtype), "too far")
