"""The gradient of every element-wise function, beside central differences; and in narrow dtypes beside float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.gradcheck import gradcheck, gradients

import tilewright as tw

EVERYWHERE = (-2.0, 2.0)
POSITIVE = (0.3, 3.0)
INSIDE = (-0.9, 0.9)

UNARY: dict[str, tuple[Callable[[Any], Any], tuple[float, float]]] = {
    "neg": (lambda t: -t, EVERYWHERE), "abs": (abs, POSITIVE), "abs of negatives": (abs, (-3.0, -0.3)),
    "exp": (tw.exp, EVERYWHERE), "exp2": (tw.exp2, EVERYWHERE), "expm1": (tw.expm1, EVERYWHERE),
    "log": (tw.log, POSITIVE), "log2": (tw.log2, POSITIVE), "log1p": (tw.log1p, INSIDE),
    "sqrt": (tw.sqrt, POSITIVE), "rsqrt": (tw.rsqrt, POSITIVE),
    "sin": (tw.sin, EVERYWHERE), "cos": (tw.cos, EVERYWHERE), "tan": (tw.tan, (-1.0, 1.0)),
    "sinh": (tw.sinh, EVERYWHERE), "cosh": (tw.cosh, EVERYWHERE), "tanh": (tw.tanh, EVERYWHERE),
    "asin": (tw.asin, INSIDE), "acos": (tw.acos, INSIDE), "atan": (tw.atan, EVERYWHERE),
    "asinh": (tw.asinh, EVERYWHERE), "acosh": (tw.acosh, (1.3, 4.0)), "atanh": (tw.atanh, INSIDE),
    "erf": (tw.erf, EVERYWHERE), "erfc": (tw.erfc, EVERYWHERE), "sigmoid": (tw.sigmoid, EVERYWHERE),
    "floor and the rest": (lambda t: (t - tw.floor(t)) * t, (0.1, 0.9)),
    "power of an int": (lambda t: t**3, EVERYWHERE), "power of a float": (lambda t: t**2.5, POSITIVE),
}
BINARY: dict[str, tuple[Callable[[Any, Any], Any], tuple[float, float]]] = {
    "add": (lambda a, b: a + b, EVERYWHERE), "sub": (lambda a, b: a - b, EVERYWHERE),
    "mul": (lambda a, b: a * b, EVERYWHERE), "div": (lambda a, b: a / b, POSITIVE),
    "fma": (lambda a, b: a * b + a, EVERYWHERE), "pow": (lambda a, b: a**b, POSITIVE),
    "mod": (lambda a, b: (a + 8.0) % b, (1.7, 1.9)), "atan2": (tw.atan2, POSITIVE),
    "maximum": (tw.maximum, EVERYWHERE), "minimum": (tw.minimum, EVERYWHERE),
    "where": (lambda a, b: tw.where(a > b, a * a, b), EVERYWHERE),
}


def arrays(interval: tuple[float, float], shape: tuple[int, ...], count: int, seed: int = 1) -> list[Any]:
    random = np.random.default_rng(seed)
    return [random.uniform(*interval, shape) for _ in range(count)]


@pytest.mark.parametrize("name", UNARY)
def test_of_one_tile(name: str) -> None:
    function, interval = UNARY[name]

    @tw.tile_kernel
    def kernel(x, out):
        i = tw.bid(0)
        tw.store(out, i, function(tw.load(x, i, 4)))

    [x] = arrays(interval, (6,), 1)
    gradcheck(kernel, (2,), {"x": x, "out": np.zeros(6)}, ["x"])


@pytest.mark.parametrize("name", BINARY)
def test_of_two_tiles(name: str) -> None:
    function, interval = BINARY[name]

    @tw.tile_kernel
    def kernel(x, y, out):
        i, j = tw.bid(0), tw.bid(1)
        tw.store(out, (i, j), function(tw.load(x, (i, j), (2, 4)), tw.load(y, (i, j), (2, 4))))

    x, y = arrays(interval, (3, 7), 2)
    gradcheck(kernel, (2, 2), {"x": x, "y": y, "out": np.zeros((3, 7))}, ["x", "y"])


def test_ties_and_corners() -> None:
    """Two equal operands share evenly, as in torch's maximum; |x| has slope 0 at 0, and x ** 0 everywhere."""

    @tw.tile_kernel
    def kernel(x, out):
        t = tw.load(x, 0, 4)
        zero = tw.zeros((4,), tw.float64)
        tw.store(out, (0, 0), tw.reshape(tw.maximum(t, zero), (1, 4)))
        tw.store(out, (1, 0), tw.reshape(abs(t), (1, 4)))
        tw.store(out, (2, 0), tw.reshape(t**zero, (1, 4)))

    x = np.array([-1.0, 0.0, 2.0, 0.0])
    for row, wanted in ((0, [0.0, 0.5, 1.0, 0.5]), (1, [-1.0, 0.0, 1.0, 0.0]), (2, [0.0] * 4)):
        cotangent = np.zeros((3, 4))
        cotangent[row] = 1.0
        [found] = gradients(kernel, (1,), {"x": x, "out": np.zeros((3, 4))}, ["x"], ["out"], [cotangent])
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("dtype, bound", [(np.float32, 2**-20), (np.float16, 2**-7)])
def test_narrow_dtypes_beside_float64(dtype: Any, bound: float) -> None:
    """Adjoints have the dtype of the values that they belong to, and round as those do."""

    @tw.tile_kernel
    def kernel(x, y, out):
        i = tw.bid(0)
        a, b = tw.load(x, i, 16), tw.load(y, i, 16)
        tw.store(out, i, tw.tanh(a * b) * tw.sigmoid(a) + tw.exp(-b * b))

    x, y = (array.astype(dtype) for array in arrays(INSIDE, (32,), 2))
    cotangent = arrays(INSIDE, (32,), 1, 2)[0].astype(dtype)
    own = gradients(kernel, (2,), {"x": x, "y": y, "out": np.zeros(32, dtype)}, "xy", ["out"], [cotangent], dtype)
    wide = {name: array.astype(np.float64) for name, array in (("x", x), ("y", y), ("out", x))}
    exact = gradients(kernel, (2,), wide, "xy", ["out"], [cotangent.astype(np.float64)])
    for got, want in zip(own, exact, strict=True):
        assert got.dtype == dtype and np.abs(got - want).max() <= bound


def test_casts_hand_adjoints_straight_through() -> None:
    """Rounding counts as the identity; the adjoint gets the dtype of the operand, the gradient that of its array."""

    @tw.tile_kernel
    def kernel(x, out):
        i = tw.bid(0)
        tw.store(out, i, tw.load(x, i, 4).astype(tw.float16) * 3.0)

    x, cotangent = np.full(4, 1 / 3, np.float32), np.full(4, 1.0, np.float16)
    [found] = gradients(kernel, (1,), {"x": x, "out": np.zeros(4, np.float16)}, ["x"], ["out"], [cotangent], np.float32)
    np.testing.assert_array_equal(found, np.full(4, 3.0))
