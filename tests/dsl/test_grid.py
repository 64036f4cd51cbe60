"""Grids: forms, limits, the linearised hardware grid."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tilewright.launching.grid import check_hardware, make_grid


@pytest.mark.parametrize("given, size", [
    ((), (1, 1, 1)), ((5,), (5, 1, 1)), ((5, 6), (5, 6, 1)), ((1, 2, 3), (1, 2, 3)), ((np.int64(4),), (4, 1, 1)),
    (((1 << 24) - 1,), ((1 << 24) - 1, 1, 1)),
])
def test_padding(given: Any, size: tuple[int, int, int]) -> None:
    grid = make_grid(given)
    assert grid.size == size == grid.hardware and not grid.linear and not grid.empty


@pytest.mark.parametrize("given, error", [
    ([1], TypeError), (3, TypeError), ((1.0,), TypeError), (("1",), TypeError), ((1, 1, 1, 1), ValueError),
    ((1 << 24,), ValueError), ((-1,), ValueError),
])
def test_refused(given: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="grid"):
        make_grid(given)


def test_empty() -> None:
    assert make_grid((0,)).empty and make_grid((3, 0)).empty


def test_linear() -> None:
    grid = make_grid((2, 70000, 3))
    assert grid.linear and grid.hardware == (420000, 1, 1) and grid.size == (2, 70000, 3)
    check_hardware(grid)
    with pytest.raises(ValueError, match="at most 2147483647 in all"):
        check_hardware(make_grid((1 << 20, 70000)))
    check_hardware(make_grid((1 << 23, 65535, 65535)))
