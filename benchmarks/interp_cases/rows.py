"""Reductions and scans of rows, normalisations, sorting."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import tilewright as tw
from benchmarks.interp_cases.case import Case, normal

ROWS, COLUMNS = 1024, 1024


@tw.tile_kernel
def softmax(x, out):
    t = tw.load(x, (tw.bid(0), 0), (1, COLUMNS), padding_mode=tw.PaddingMode.NEG_INF)
    e = tw.exp(t - tw.max(t, axis=1, keepdims=True))
    tw.store(out, (tw.bid(0), 0), e / tw.sum(e, axis=1, keepdims=True))


def softmax_plain(x: Any) -> Any:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@tw.tile_kernel
def layer_norm(x, weight, bias, out):
    i = tw.bid(0)
    t = tw.load(x, (i, 0), (1, COLUMNS))
    centred = t - tw.sum(t, axis=1, keepdims=True) / COLUMNS
    scale = tw.rsqrt(tw.sum(centred * centred, axis=1, keepdims=True) / COLUMNS + 1e-5)
    tw.store(out, (i, 0), centred * scale * tw.load(weight, (0, 0), (1, COLUMNS)) + tw.load(bias, (0, 0), (1, COLUMNS)))


def layer_norm_plain(x: Any, weight: Any, bias: Any) -> Any:
    centred = x - x.mean(axis=1, keepdims=True)
    scale = np.float32(1) / np.sqrt((centred * centred).mean(axis=1, keepdims=True) + np.float32(1e-5))
    return centred * scale * weight + bias


@tw.tile_kernel
def rms_norm(x, weight, out):
    i = tw.bid(0)
    t = tw.load(x, (i, 0), (1, COLUMNS)).astype(tw.float32)
    scale = tw.rsqrt(tw.sum(t * t, axis=1, keepdims=True) / COLUMNS + 1e-5)
    tw.store(out, (i, 0), (t * scale * tw.load(weight, (0, 0), (1, COLUMNS)).astype(tw.float32)).astype(tw.float16))


def rms_norm_plain(x: Any, weight: Any) -> Any:
    t = x.astype(np.float32)
    scale = np.float32(1) / np.sqrt((t * t).mean(axis=1, keepdims=True) + np.float32(1e-5))
    return (t * scale * weight.astype(np.float32)).astype(np.float16)


@tw.tile_kernel
def sums(x, out):
    i = tw.bid(0)
    tw.store(out, i, tw.sum(tw.load(x, (i, 0), (1, COLUMNS)), axis=1))


@tw.tile_kernel
def maxima(x, out):
    i = tw.bid(0)
    tw.store(out, i, tw.max(tw.load(x, (i, 0), (1, COLUMNS)), axis=1))


@tw.tile_kernel
def best(x, out):
    i = tw.bid(0)
    tw.store(out, i, tw.argmax(tw.load(x, (i, 0), (1, COLUMNS)), axis=1))


@tw.tile_kernel
def running(x, out):
    i = tw.bid(0)
    tw.store(out, (i, 0), tw.cumsum(tw.load(x, (i, 0), (1, COLUMNS)), axis=1))


@tw.tile_kernel
def log_sum(x, out):
    i = tw.bid(0)
    t = tw.load(x, (i, 0), (1, COLUMNS))
    top = tw.max(t, axis=1, keepdims=True)
    tw.store(out, i, (tw.log(tw.sum(tw.exp(t - top), axis=1, keepdims=True)) + top).reshape((1,)))


def log_sum_plain(x: Any) -> Any:
    top = x.max(axis=1, keepdims=True)
    return (np.log(np.exp(x - top).sum(axis=1, keepdims=True)) + top)[:, 0]


@tw.tile_kernel
def bitonic(x, out, n: tw.Constant[int]):
    i = tw.bid(0)
    keys, lane = tw.load(x, i, n), tw.arange(n, dtype=tw.int32)
    for stage in tw.static_iter(range(1, n.bit_length())):
        for step in tw.static_iter(reversed(range(stage))):
            keys = exchange(keys, (lane >> stage) % 2 == 1, n, 1 << step)
    tw.store(out, i, keys)


def exchange(keys, descending, n, distance):
    """Put every pair of elements `distance` apart in order."""
    shape, half = (n // (2 * distance), 2, distance), (n // (2 * distance), 1, distance)
    k, d = keys.reshape(shape), descending.reshape(shape).extract((0, 0, 0), half)
    first, second = k.extract((0, 0, 0), half), k.extract((0, 1, 0), half)
    swap = (first > second) != d
    return tw.cat((tw.where(swap, second, first), tw.where(swap, first, second)), 1).reshape((n,))


def bitonic_plain(x: Any, n: int) -> Any:
    keys, lane = x.reshape(-1, n), np.arange(n)
    for stage in range(1, n.bit_length()):
        for distance in (1 << s for s in reversed(range(stage))):
            k = keys.reshape(-1, n // (2 * distance), 2, distance)
            d = ((lane >> stage) % 2 == 1).reshape(n // (2 * distance), 2, distance)[:, 0]
            first, second = k[:, :, 0], k[:, :, 1]
            swap = (first > second) != d
            keys = np.stack((np.where(swap, second, first), np.where(swap, first, second)), 2).reshape(-1, n)
    return keys.reshape(-1)


def _rows(name: str, kernel: Any, plain: Callable[..., Any], out: Any = None, close: float = 1e-5,
          dtype: Any = np.float32, more: tuple[Any, ...] = (), rows: int = ROWS) -> Case:
    x = normal(rows, COLUMNS, dtype=dtype)
    out = np.zeros_like(x) if out is None else out
    return Case(name, lambda: kernel[rows](x, *more, out), out, lambda: plain(x, *more), close)


def _sorting() -> Case:
    x = normal(ROWS * 256)
    out = np.zeros_like(x)
    return Case("bitonic sort, 1024 rows of 256", lambda: bitonic[ROWS](x, out, 256), out,
                lambda: bitonic_plain(x, 256), 0.0)


def _per_row(dtype: Any = np.float32) -> Any:
    return np.zeros(ROWS, dtype)


CASES: tuple[Callable[[], Case], ...] = (
    partial(_rows, "softmax f32, 4096 rows", softmax, softmax_plain, rows=4096),
    lambda: _rows("layer norm f32", layer_norm, layer_norm_plain, more=(normal(1, COLUMNS), normal(1, COLUMNS))),
    lambda: _rows("RMS norm f16", rms_norm, rms_norm_plain, None, 2e-3, np.float16,
                  (normal(1, COLUMNS, dtype=np.float16),)),
    lambda: _rows("sum of rows f32", sums, lambda x: x.sum(axis=1), _per_row(), 1e-5),
    lambda: _rows("sum of rows f16", sums, lambda x: x.sum(axis=1, dtype=np.float32), _per_row(np.float16), 2e-3,
                  np.float16),
    lambda: _rows("maximum of rows f32", maxima, lambda x: x.max(axis=1), _per_row(), 0.0),
    lambda: _rows("argmax of rows f32", best, lambda x: x.argmax(axis=1), _per_row(np.int32), 0.0),
    lambda: _rows("running sums f32", running, lambda x: np.cumsum(x, axis=1), None, 1e-4),
    lambda: _rows("log-sum-exp f32", log_sum, log_sum_plain, _per_row(), 1e-5),
    _sorting,
)
