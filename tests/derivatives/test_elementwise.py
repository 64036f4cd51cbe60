"""Gradients of element-wise functions where the table has no say: ties, corners, casts, and lanes that hold padding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.gradcheck import gradients

import tilewright as tw


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


def test_a_stopped_gradient_is_a_constant() -> None:
    """Of t * stop_gradient(t) the gradient is t; and the maximum that is taken out of a softmax has no part in it."""

    @tw.tile_kernel
    def kernel(x, out, stop: tw.Constant[bool]):
        t = tw.load(x, 0, 8)
        top = tw.max(t)
        e = tw.exp(t - (tw.stop_gradient(top) if stop else top))
        tw.store(out, 0, e / tw.sum(e) + (t * tw.stop_gradient(t) - t * t / 2 if stop else 0.0))

    x, g = np.random.default_rng(2).standard_normal((2, 8))
    found = {stop: gradients(kernel, (1,), {"x": x, "out": x, "stop": stop}, ["x"], ["out"], [g])[0]
             for stop in (False, True)}
    np.testing.assert_allclose(found[True], found[False], atol=1e-15)


def test_casts_hand_adjoints_straight_through() -> None:
    """Rounding counts as the identity; the adjoint gets the dtype of the operand, the gradient that of its array."""

    @tw.tile_kernel
    def kernel(x, out):
        i = tw.bid(0)
        tw.store(out, i, tw.load(x, i, 4).astype(tw.float16) * 3.0)

    x, cotangent = np.full(4, 1 / 3, np.float32), np.full(4, 1.0, np.float16)
    [found] = gradients(kernel, (1,), {"x": x, "out": np.zeros(4, np.float16)}, ["x"], ["out"], [cotangent], np.float32)
    np.testing.assert_array_equal(found, np.full(4, 3.0))


def test_nothing_comes_from_beyond_the_ends_of_arrays() -> None:
    """A quotient by padding is infinite, and so is its slope; a sum over columns leaves them out all the same."""

    @tw.tile_kernel
    def kernel(x, y, w, out):
        i = tw.bid(0)
        quotient = tw.load(x, (i, 0), (2, 1)) / tw.load(y, (i, 0), (2, 4))
        tw.store(out, (i, 0), tw.log(quotient) * tw.load(w, 0, ()))

    x, y, w = np.array([[1.0], [2.0], [4.0]]), np.full((3, 3), 2.0), np.array([0.5])
    given = {"x": x, "y": y, "w": w, "out": y}
    found = gradients(kernel, (2,), given, ["x", "y", "w"], ["out"], [np.ones((3, 3))])
    for got, want in zip(found, (1.5 / x, -0.5 / y, [3 * np.log(x / 2.0).sum()]), strict=True):
        np.testing.assert_allclose(got, want, atol=1e-15)


LOW = tw.PaddingMode.NEG_INF


@pytest.mark.parametrize("function, guards", [
    (lambda x, i: tw.log(tw.load(x, i, 16)), 1), (lambda x, i: tw.exp(tw.load(x, i, 16)), 0),
    (lambda x, i: tw.exp(tw.load(x, i, 16, padding_mode=LOW)), 0),
    (lambda x, i: tw.exp(tw.load(x, i, 16) + 1.0), 1),
    (lambda x, i: tw.load(x, i, 16) * tw.rsqrt(tw.sum(tw.load(x, i, 16))), 0),
    (lambda x, i: tw.load(x, i, 16) / tw.load(x, i, 16), 2),
    (lambda x, i: tw.tanh(tw.sin(tw.load(x, i, 16)) * 2.0 - 1.0), 0),
], ids=["log", "exp of 0", "exp of -inf", "exp", "of a sum", "quotient", "finite"])
def test_lanes_that_stand_for_no_element_are_guarded(function: Any, guards: int) -> None:
    """The comparison with zero is made where a tile may reach beyond an end, and a factor may be infinite there."""

    @tw.tile_kernel
    def kernel(x, out):
        i = tw.bid(0)
        tw.store(out, i, function(x, i))

    for extent, count in (("1024", 0), ("1000", guards)):
        spec = tw.spec(f"f32[{extent}]")
        found = tw.grad(kernel, wrt="x", outputs="out").ir(*[spec] * 4).count("select(")
        assert found == count
