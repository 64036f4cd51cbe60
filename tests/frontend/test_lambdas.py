"""Lambdas as kernels and helpers: the right source text is found where several stand on one line."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np

import tilewright as ct


def result(kernel: Any) -> float:
    out = np.zeros(4, np.float32)
    kernel[(1,)](np.ones(4, np.float32), out)
    return float(out[0])


def test_two_on_a_line() -> None:
    two, three = ct.kernel(lambda x, y: ct.store(y, 0, 2.0)), ct.kernel(lambda x, y: ct.store(y, 0, 3.0))
    assert (result(two), result(three)) == (2.0, 3.0)


def test_inside_another() -> None:
    make = lambda: ct.kernel(lambda x, y: ct.store(y, 0, ct.load(x, 0, 4) * 5.0))  # noqa: E731
    assert result(make()) == 5.0


def test_around_another() -> None:
    kernel = ct.kernel(lambda x, y: ct.store(y, 0, (lambda t: t + t)(ct.load(x, 0, 4))))
    assert result(kernel) == 2.0


@ct.kernel
def seven(x, y):
    ct.store(y, 0, 7.0)


def test_kernels_are_copied_as_functions_are() -> None:
    assert copy.deepcopy(seven) is seven
    assert pickle.loads(pickle.dumps(seven)) is seven
