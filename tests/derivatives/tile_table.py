"""The table of differentiable functions of whole tiles: changes of shape, reductions, scans and products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tilewright as tw


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
    return value * value + place.astype(value.dtype)


def batched(t: Any) -> Any:
    a, b, acc = tw.reshape(t, (2, 2, 4)), tw.reshape(t * t, (2, 4, 2)), tw.extract(t, (0, 0), (2, 4))
    wide = tw.float32 if t.dtype == tw.bfloat16 else t.dtype
    return tw.reshape(tw.mma(a, b, tw.reshape(acc, (2, 2, 2)).astype(wide)), (2, 4)).astype(t.dtype)


# What is made of a tile of 2 x 8, and the width of the result.
TILES: dict[str, tuple[Callable[[Any], Any], int]] = {
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
    "batched mma": (batched, 4),
}


def halves(t: Any, axis: Any) -> Any:
    """The second half of a tile beside its double."""
    both = tw.cat((t * t, tw.sin(t)), axis)
    return tw.extract(both, tuple(int(k == axis) for k in range(len(t.shape))), t.shape)


def from_behind(t: Any, axis: Any) -> Any:
    """Each element that of the last place less its own, by positions."""
    n = t.shape[axis]
    places = tw.reshape(n - 1 - tw.arange(n, dtype=tw.int32), tuple(n if k == axis else 1 for k in range(len(t.shape))))
    return tw.take(t * t, tw.broadcast_to(places, t.shape), axis) * t


# What is made of a tile along one of its axes, in its shape.
ALONG: dict[str, Callable[[Any, Any], Any]] = {
    "cumsum": lambda t, axis: tw.cumsum(t * t, axis, reverse=True), "cumprod": lambda t, axis: tw.cumprod(t, axis),
    "scan": lambda t, axis: tw.scan(t, axis, larger, -1e30),
    "reduce": lambda t, axis: t * tw.reduce(t, axis, larger, -1e30, keepdims=True),
    "flip and roll": lambda t, axis: tw.flip(t, axis) * tw.roll(t, 1, axis),
    "sorted": lambda t, axis: tw.take(t, tw.argsort(t.astype(tw.float32), axis), axis) * t,
    "cat and extract": halves, "take": from_behind,
}


def of_tile(name: str) -> tw.tile_kernel:
    """The row of a name as a kernel of arrays of up to eight columns, with a tile of 2 x 8."""
    function = TILES[name][0]

    @tw.tile_kernel
    def kernel(x, out):
        i = tw.bid(0)
        tw.store(out, (i, 0), function(tw.load(x, (i, 0), (2, 8), padding_mode=tw.PaddingMode.ZERO)))

    return kernel
