"""Grids: forms, limits, the linearised hardware grid."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
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


class Count:
    """A number that changes, as a tensor does."""

    def __init__(self) -> None:
        self.n = 1

    def __index__(self) -> int:
        return self.n


def test_what_a_kernel_has_for_a_grid() -> None:
    """The same for equal ints; of other numbers what they are now."""
    @tw.tile_kernel
    def fill(x):
        tw.store(x, tw.bid(0), tw.ones((1,), tw.float32))

    launch: Any = fill
    count = Count()
    for given in (count, (count,)):
        for count.n in (1, 3):
            assert launch[given] is launch[(count.n, 1, 1)]
    for given in (np.array(2), (np.array(2),), np.int64(2)):
        assert launch[given] is launch[(2, 1, 1)]
    assert launch[2] is launch[2] and launch[(2,)] is launch[(2,)]
    for wrong in (2.0, (2.0,), [2]):
        with pytest.raises(TypeError):
            launch[wrong]
