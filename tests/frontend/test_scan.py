"""Reductions and scans by a function, cumsum, cumprod: against NumPy."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest
from support.frontend import result

import tilewright as ct

X = np.random.default_rng(1).integers(-9, 10, (4, 8, 2)).astype(np.int32)


def apply(function: Any, shape: tuple[int, ...], dtype: Any = np.int32, x: np.ndarray = X) -> np.ndarray:
    full = x.shape
    zeros = (0,) * x.ndim
    return result(lambda a: function(ct.load(a, zeros, full)), x, shape=shape, dtype=dtype)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("reverse", [False, True])
def test_cumulative(axis: int, reverse: bool) -> None:
    def along(f: Any, x: np.ndarray) -> np.ndarray:
        turned = np.flip(x, axis) if reverse else x
        sums = f(turned, axis=axis, dtype=np.int32)
        return np.flip(sums, axis) if reverse else sums

    assert (apply(lambda t: ct.cumsum(t, axis, reverse=reverse), X.shape) == along(np.cumsum, X)).all()
    assert (apply(lambda t: ct.cumprod(t, axis, reverse=reverse), X.shape) == along(np.cumprod, X)).all()


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_reduce(axis: int) -> None:
    want = tuple(n for k, n in enumerate(X.shape) if k != axis)
    for func, reference in ((operator.add, np.sum), (max, np.max), (ct.minimum, np.min), (lambda a, b: a + b, np.sum)):
        assert (apply(lambda t, f=func: ct.reduce(t, axis, f, 0), want) == reference(X, axis=axis)).all()
    kept = tuple(1 if k == axis else n for k, n in enumerate(X.shape))
    assert (apply(lambda t: ct.reduce(t, axis, operator.xor, 0, keepdims=True), kept)
            == np.bitwise_xor.reduce(X, axis=axis, keepdims=True)).all()


def test_the_order_of_neighbours_is_kept() -> None:
    first = apply(lambda t: ct.reduce(t, 1, lambda a, b: a, 0), (4, 2))
    assert (first == X[:, 0]).all()
    last = apply(lambda t: ct.scan(t, 1, lambda a, b: b, 0), X.shape)
    assert (last == X).all()


def test_several_tiles_at_once() -> None:
    def best(v0, i0, v1, i1):
        better = v1 > v0
        return ct.where(better, v1, v0), ct.where(better, i1, i0)

    def compute(t):
        position = ct.arange(8, dtype=ct.int32)[None, :, None]
        values, places = ct.reduce((t, position), 1, best, (-1000, 0))
        return values * 100 + places

    assert (apply(compute, (4, 2)) == X.max(1) * 100 + X.argmax(1)).all()


def test_a_linear_recurrence() -> None:
    """y[i] = a[i] * y[i-1] + b[i], the scan that is not a sum."""

    def step(a0, b0, a1, b1):
        return a1 * a0, a1 * b0 + b1

    a = np.random.default_rng(2).uniform(-1, 1, 32)
    b = np.random.default_rng(3).uniform(-1, 1, 32)

    def compute(x, y):
        return ct.scan((ct.load(x, 0, 32), ct.load(y, 0, 32)), 0, step, (1.0, 0.0))[1]

    got = result(compute, a, b, shape=(32,))
    want, y = [], 0.0
    for p, q in zip(a, b, strict=True):
        y = p * y + q
        want.append(y)
    assert np.allclose(got, want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("error,function", [
    (ct.TileSyntaxError, lambda a, b: a if a > b else b),
    (ct.TileSyntaxError, lambda a, b: ct.reduce(a, 0, lambda x, y: x + y, 0)),
    (ct.TileTypeError, lambda a, b: (a, b)), (ct.TileTypeError, lambda a, b: a + 0.5),
    (ct.TileTypeError, lambda a: a), (ct.TileTypeError, lambda a, b: None),
])
def test_refused(error: type[Exception], function: Any) -> None:
    with pytest.raises(error):
        apply(lambda t: ct.reduce(t, 0, function, 0), (8, 2))
    with pytest.raises(ct.TileTypeError, match="identity"):
        apply(lambda t: ct.scan(t, 0, operator.add, t), X.shape)
