"""The gradient of changes of shape, reductions and scans, beside central differences; and every op has a rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.gradcheck import gradcheck, gradients

import tilewright as tw
from tilewright.tileir import derivatives, ops
from tilewright.tileir.core import OPS
from tilewright.tileir.derivatives.rules import ADJOINTS, REFUSED


def positions() -> Any:
    return tw.broadcast_to(tw.arange(8, dtype=tw.int32), (2, 8))


def larger(a: Any, b: Any) -> Any:
    high = tw.maximum(a, b)
    return high + tw.log(tw.exp(a - high) + tw.exp(b - high))


def affine(a: Any, p: Any, b: Any, q: Any) -> Any:
    return a * b, q + b * p


def with_place(a: Any, i: Any, b: Any, j: Any) -> Any:
    return tw.where(a > b, a, b), tw.where(a > b, i, j)


def recurrence(t: Any, reverse: bool) -> Any:
    u, v = tw.scan((tw.sigmoid(t), t * t), 1, affine, (1.0, 0.0), reverse=reverse)
    return u + v


def placed(t: Any) -> Any:
    value, place = tw.reduce((t, positions()), 1, with_place, (-1e30, 0), keepdims=True)
    return value * value + place.astype(tw.float64)


# What is made of a tile of 2 x 8, and the width of the result.
FUNCTIONS: dict[str, tuple[Callable[[Any], Any], int]] = {
    "sum": (lambda t: tw.sum(t, 1, keepdims=True), 1),
    "sum of all": (lambda t: t * tw.sum(t, (0, 1), keepdims=True), 8),
    "max and min": (lambda t: tw.max(t, 1, keepdims=True) + tw.min(t * t, 1, keepdims=True), 1),
    "prod": (lambda t: tw.prod(t, 1, keepdims=True), 1),
    "cumsum": (lambda t: tw.cumsum(t, 1), 8), "cumsum from the end": (lambda t: tw.cumsum(t, 0, reverse=True), 8),
    "cumprod": (lambda t: tw.cumprod(t, 1), 8), "cumprod from the end": (lambda t: tw.cumprod(t, 1, reverse=True), 8),
    "scan": (lambda t: tw.scan(t, 1, larger, -1e30), 8),
    "scan from the end": (lambda t: tw.scan(t, 1, larger, -1e30, reverse=True), 8),
    "scan of pairs": (lambda t: recurrence(t, False), 8),
    "scan of pairs from the end": (lambda t: recurrence(t, True), 8),
    "reduce by a sum": (lambda t: tw.reduce(t * t, 1, lambda a, b: a + b, 0.0, keepdims=True), 1),
    "reduce by a product": (lambda t: tw.reduce(t, 1, lambda a, b: a * b, 1.0, keepdims=True), 1),
    "reduce": (lambda t: tw.reduce(t, 1, larger, -1e30, keepdims=True), 1), "reduce with a place": (placed, 1),
    "cat": (lambda t: tw.cat((t * t, tw.sin(t)), 1), 16),
    "extract": (lambda t: tw.extract(t * t, (0, 1), (2, 4)), 4),
    "insert": (lambda t: tw.insert(t * t, (0, 0), tw.extract(tw.sin(t), (0, 1), (2, 4))), 8),
    "take": (lambda t: tw.take(t * t, positions() // 2, 1), 8),
    "sorted by positions": (lambda t: tw.take(t, tw.argsort(t.astype(tw.float32), 1), 1) * positions(), 8),
    "flip and roll": (lambda t: tw.flip(t, 1) * tw.roll(t, 3, 1), 8),
    "transpose": (lambda t: tw.transpose(tw.transpose(t) * 2.0) * t, 8),
    "permute and reshape": (
        lambda t: t * tw.reshape(tw.permute(tw.reshape(t, (2, 2, 4)), (2, 0, 1)), (2, 8)), 8),
    "matmul": (lambda t: tw.matmul(t, tw.transpose(tw.sin(t))), 2),
    "batched mma": (lambda t: tw.reshape(tw.mma(
        tw.reshape(t, (2, 2, 4)), tw.reshape(t * t, (2, 4, 2)), tw.reshape(tw.extract(t, (0, 0), (2, 4)), (2, 2, 2))),
        (2, 4)), 4),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_of_a_tile(name: str) -> None:
    """With a tile that reaches beyond the array: what lies there has no part."""
    function, width = FUNCTIONS[name]

    @tw.tile_kernel
    def kernel(x, out):
        i = tw.bid(0)
        t = tw.load(x, (i, 0), (2, 8), padding_mode=tw.PaddingMode.ZERO)
        tw.store(out, (i, 0), function(t))

    x = np.random.default_rng(3).standard_normal((3, 8))
    gradcheck(kernel, (2,), {"x": x, "out": np.zeros((3, width))}, ["x"])


@pytest.mark.parametrize("reduce, values, wanted", [
    (tw.max, [1.0, 3.0, 3.0, 0.0], [0.0, 0.5, 0.5, 0.0]), (tw.prod, [2.0, 3.0, 4.0, 1.0], [12.0, 8.0, 6.0, 24.0]),
    (tw.prod, [2.0, 0.0, 4.0, 1.0], [0.0, 8.0, 0.0, 0.0]), (tw.prod, [2.0, 0.0, 4.0, 0.0], [0.0, 0.0, 0.0, 0.0]),
])
def test_extremes_share_and_products_know_zeros(reduce: Any, values: list[float], wanted: list[float]) -> None:
    """Equal extremes share evenly, as in torch's amax; a product has the slopes of the others, also beside a zero."""

    @tw.tile_kernel
    def kernel(x, out):
        tw.store(out, 0, reduce(tw.load(x, 0, 4)))

    [found] = gradients(kernel, (1,), {"x": np.array(values), "out": np.zeros(1)}, ["x"], ["out"], [np.ones(1)])
    np.testing.assert_array_equal(found, wanted)


def test_every_op_has_a_rule_or_a_reason() -> None:
    """An op that is forgotten here would be refused without a word about what to do."""
    families = [module.__name__ for module in map(ops.__dict__.get, ops.__all__) if module is not None]
    tile_ops = [op for op in OPS.values() if op.__module__ in families]
    missing = set(ADJOINTS.missing(tile_ops))
    without_result = {op.opcode for op in tile_ops if op._io}
    assert missing - without_result == set(REFUSED), "write a rule in tileir/derivatives/, or a reason in refused.py"
    assert derivatives.gradient is not None and not set(REFUSED) - set(OPS)


def test_sorted_bits_are_refused_with_advice() -> None:
    @tw.tile_kernel
    def kernel(x, out):
        tw.store(out, 0, tw.sort(tw.load(x, 0, 8)))

    spec = tw.spec("f32[8]")
    with pytest.raises(tw.TileUnsupportedFeatureError, match="the bits of a float are no number") as error:
        tw.grad(kernel, wrt="x", outputs="out").ir(*[spec] * 4)
    assert "argsort(x, axis)" in str(error.value) and "tw.sort(tw.load(x, 0, 8))" in str(error.value)
