"""Kernels of a layer, each on its own: what fusing puts together."""

from __future__ import annotations

from typing import Any

import numpy as np

import tilewright as tw

ZERO = tw.PaddingMode.ZERO


def data(*shape: int, dtype: Any = np.float32) -> Any:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(dtype)


@tw.tile_kernel
def relu(x, out):
    i = tw.bid(0)
    tw.store(out, i, tw.maximum(tw.load(x, i, 16), 0.0))


@tw.tile_kernel
def times(x, out, factor):
    i = tw.bid(0)
    tw.store(out, i, tw.load(x, i, 16) * factor)


@tw.tile_kernel
def plus(x, out, term):
    i = tw.bid(0)
    tw.store(out, i, tw.load(x, i, 16) + term)


@tw.tile_kernel
def layer_norm(x, weight, bias, out, tm: tw.Constant[int], n: tw.Constant[int]):
    i = tw.bid(0)
    t = tw.load(x, (i, 0), (tm, n), padding_mode=ZERO).astype(tw.float32)
    centred = t - tw.sum(t, axis=1, keepdims=True) / n
    scale = tw.rsqrt(tw.sum(centred * centred, axis=1, keepdims=True) / n + 1e-5)
    w, b = tw.load(weight, 0, n).astype(tw.float32), tw.load(bias, 0, n).astype(tw.float32)
    tw.store(out, (i, 0), (centred * scale * w + b).astype(out.dtype))


@tw.tile_kernel
def linear(x, w, out, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.num_tiles(x, 1, (tm, tk))):
        a = tw.load(x, (i, k), (tm, tk), padding_mode=ZERO)
        acc = tw.mma(a, tw.load(w, (k, j), (tk, tn), padding_mode=ZERO), acc)
    tw.store(out, (i, j), acc.astype(out.dtype))


@tw.tile_kernel
def bias_gelu(x, bias, out, tm: tw.Constant[int], tn: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    t = tw.load(x, (i, j), (tm, tn)).astype(tw.float32) + tw.load(bias, j, tn).astype(tw.float32)
    tw.store(out, (i, j), (0.5 * t * (1.0 + tw.erf(t * 0.7071067811865476))).astype(out.dtype))


@tw.tile_kernel
def dropout(x, out, seed, rate: float, tm: tw.Constant[int], tn: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    row, column = i * tm + tw.arange(tm, dtype=tw.int32), j * tn + tw.arange(tn, dtype=tw.int32)
    place = (row[:, None] * x.shape[1] + column[None, :]).astype(tw.uint32)
    drawn = (((place ^ seed.astype(tw.uint32)) * 2654435761) >> 8).astype(tw.float32) * 2.0**-24
    t = tw.load(x, (i, j), (tm, tn)).astype(tw.float32)
    tw.store(out, (i, j), tw.where(drawn >= rate, t / (1.0 - rate), 0.0).astype(out.dtype))


@tw.tile_kernel
def row_maxima(x, top, n: tw.Constant[int]):
    i = tw.bid(0)
    tw.store(top, i, tw.max(tw.load(x, (i, 0), (4, n), padding_mode=tw.PaddingMode.NEG_INF), axis=1))


@tw.tile_kernel
def exponentials(x, top, out, n: tw.Constant[int]):
    i = tw.bid(0)
    tw.store(out, (i, 0), tw.exp(tw.load(x, (i, 0), (4, n)) - tw.load(top, i, 4)[:, None]))


@tw.tile_kernel
def divide_rows(x, out, n: tw.Constant[int]):
    i = tw.bid(0)
    t = tw.load(x, (i, 0), (4, n), padding_mode=ZERO)
    tw.store(out, (i, 0), t / tw.sum(t, axis=1, keepdims=True))


@tw.tile_kernel
def reverse(x, out):
    i = tw.bid(0)
    tw.store(out, i, tw.load(x, tw.num_blocks(0) - 1 - i, 16))


@tw.tile_kernel
def count(x, total):
    tw.atomic_add(total, 0, tw.sum(tw.load(x, tw.bid(0), 16)), memory_order=tw.MemoryOrder.ACQ_REL)


@tw.tile_kernel
def show(x, out):
    print("block", tw.bid(0))
    tw.store(out, tw.bid(0), tw.load(x, tw.bid(0), 16))


@tw.tile_kernel
def fill(arrays, value):
    for k in range(len(arrays)):
        tw.store(arrays[k], tw.bid(0), tw.full((16,), value, tw.float32))
