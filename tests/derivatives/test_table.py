"""Every row of the table beside central differences in float64, and in narrow dtypes beside its float64 gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from derivatives.table import GRID, ONE, TWO, case
from support.gradcheck import ROUNDING, gradcheck, gradients


@pytest.mark.parametrize("name", [*ONE, *TWO])
def test_gradcheck(name: str) -> None:
    kernel, arguments, wrt, outputs, _ = case(name)
    gradcheck(kernel, GRID, arguments, wrt, outputs)


@pytest.mark.parametrize("name", [*ONE, *TWO])
def test_narrow_dtypes_beside_float64(name: str) -> None:
    """The error is a few roundings of the largest gradient: values and adjoints have the narrow dtype."""
    kernel, arguments, wrt, outputs, roundings = case(name)
    random = np.random.default_rng(1)
    cotangents = [random.integers(-8, 9, arguments[n].shape) / 8 for n in outputs]
    exact = gradients(kernel, GRID, arguments, wrt, outputs, cotangents)
    scale = max(float(np.abs(a).max()) for a in exact)
    for dtype, rounding in ROUNDING.items():
        narrow = {n: a.astype(dtype) for n, a in arguments.items()}
        found = gradients(kernel, GRID, narrow, wrt, outputs, [g.astype(dtype) for g in cotangents], dtype)
        error = max(float(np.abs(got - want).max()) for got, want in zip(map(wide, found), exact, strict=True))
        assert error <= roundings * rounding * max(scale, 1.0), (dtype, error / rounding / max(scale, 1.0))


def wide(array: Any) -> Any:
    return array.astype(np.float64)
