"""Matrix products of every dtype and some tiles, and attention."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

import tilewright as tw
from benchmarks.interp_cases.case import Case, normal, positive, whole

ZERO = tw.PaddingMode.ZERO


@tw.tile_kernel
def product(a, b, out, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((tm, tn), tw.int32 if a.dtype == tw.int8 else tw.float32)
    for k in range(tw.num_tiles(a, 1, (tm, tk))):
        x = tw.load(a, (i, k), (tm, tk), padding_mode=ZERO)
        acc = tw.mma(x, tw.load(b, (k, j), (tk, tn), padding_mode=ZERO), acc)
    tw.store(out, (i, j), acc.astype(out.dtype))


@tw.tile_kernel
def product_tf32(a, b, out, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.num_tiles(a, 1, (tm, tk))):
        x = tw.load(a, (i, k), (tm, tk), padding_mode=ZERO).astype(tw.tfloat32)
        acc = tw.mma(x, tw.load(b, (k, j), (tk, tn), padding_mode=ZERO).astype(tw.tfloat32), acc)
    tw.store(out, (i, j), acc)


@tw.tile_kernel
def batched(a, b, out):
    n, i, j = tw.bid(0), tw.bid(1), tw.bid(2)
    acc = tw.zeros((64, 64), tw.float32)
    for k in range(tw.num_tiles(a, 2, (1, 64, 32))):
        x = tw.load(a, (n, i, k), (1, 64, 32)).reshape((64, 32))
        acc = tw.mma(x, tw.load(b, (n, k, j), (1, 32, 64)).reshape((32, 64)), acc)
    tw.store(out, (n, i, j), acc.reshape((1, 64, 64)))


@tw.tile_kernel
def times_vector(a, x, out):
    i = tw.bid(0)
    acc = tw.zeros((16, 256), tw.float32)
    for k in range(tw.num_tiles(a, 1, (16, 256))):
        acc += tw.load(a, (i, k), (16, 256)) * tw.load(x, k, 256)[None, :]
    tw.store(out, i, tw.sum(acc, axis=1))


@tw.tile_kernel
def dequantised(x, weight, scale, out):
    """x: (m, k) float16, weight: (k, n) int8, scale: (k // 64, n) float16."""
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((64, 64), tw.float32)
    for g in range(scale.shape[0]):
        w = tw.load(weight, (g, j), (64, 64)).astype(tw.float16) * tw.load(scale, (g, j), (1, 64))
        acc = tw.mma(tw.load(x, (i, g), (64, 64)), w, acc)
    tw.store(out, (i, j), acc.astype(tw.float16))


def dequantised_plain(x: Any, weight: Any, scale: Any) -> Any:
    w = weight.astype(np.float16) * np.repeat(scale, 64, axis=0)
    return (x.astype(np.float32) @ w.astype(np.float32)).astype(np.float16)


@tw.tile_kernel
def attention(q, k, v, out, causal: tw.Constant[bool]):
    """(heads, tokens, 64) each, tiles of 64 queries and keys."""
    head, i = tw.bid(0), tw.bid(1)
    query = tw.load(q, (head, i, 0), (1, 64, 64)).reshape((64, 64))
    top = tw.full((64, 1), -float("inf"), tw.float32)
    total, acc = tw.zeros((64, 1), tw.float32), tw.zeros((64, 64), tw.float32)
    row = i * 64 + tw.arange(64, dtype=tw.int32)[:, None]
    for j in range(i + 1 if causal else tw.num_tiles(k, 1, (1, 64, 64))):
        key = tw.load(k, (head, j, 0), (1, 64, 64)).reshape((64, 64))
        score = tw.mma(query, tw.transpose(key), tw.zeros((64, 64), tw.float32)) * 0.125
        if causal:
            score = tw.where(j * 64 + tw.arange(64, dtype=tw.int32)[None, :] <= row, score, -float("inf"))
        higher = tw.maximum(top, tw.max(score, axis=1, keepdims=True))
        weight, shrink = tw.exp(score - higher), tw.exp(top - higher)
        total = total * shrink + tw.sum(weight, axis=1, keepdims=True)
        value = tw.load(v, (head, j, 0), (1, 64, 64)).reshape((64, 64))
        acc = tw.mma(weight.astype(v.dtype), value, acc * shrink)
        top = higher
    tw.store(out, (head, i, 0), (acc / total).astype(out.dtype).reshape((1, 64, 64)))


def attention_plain(q: Any, k: Any, v: Any, causal: bool) -> Any:
    q, k, v = (x.astype(np.float32) for x in (q, k, v))
    score = q @ k.transpose(0, 2, 1) * np.float32(0.125)
    if causal:
        score = np.where(np.tri(score.shape[1], dtype=bool), score, np.float32(-np.inf))
    e = np.exp(score - score.max(axis=2, keepdims=True))
    return e @ v / e.sum(axis=2, keepdims=True)


def _product(name: str, tiles: tuple[int, int, int], dtype: Any = np.float32, n: int = 512, close: float = 1e-5,
             kernel: Any = product) -> Case:
    a, b = normal(n, n, dtype=dtype), normal(n, n, dtype=dtype, seed=1)
    out = np.zeros((n, n), dtype)
    grid = n // tiles[0], n // tiles[1]
    return Case(f"matmul {name}", lambda: kernel[grid](a, b, out, *tiles), out,
                lambda: (a.astype(np.float32) @ b.astype(np.float32)).astype(dtype), close)


def _int8() -> Case:
    a, b = whole(128, 512, 512, dtype=np.int8, low=-128), whole(128, 512, 512, dtype=np.int8, low=-128, seed=1)
    out = np.zeros((512, 512), np.int32)
    # In float64 the sums are exact, and have BLAS.
    return Case("matmul i8, 64x64x64", lambda: product[8, 8](a, b, out, 64, 64, 64), out,
                lambda: (a.astype(np.float64) @ b.astype(np.float64)).astype(np.int32), 0.0)


def _batched() -> Case:
    a, b = normal(16, 128, 128), normal(16, 128, 128, seed=1)
    out = np.zeros_like(a)
    return Case("16 products of 128^3 f32", lambda: batched[16, 2, 2](a, b, out), out, lambda: a @ b)


def _times_vector() -> Case:
    a, x = normal(1024, 1024), normal(1024, seed=1)
    out = np.zeros(1024, np.float32)
    return Case("matrix times vector f32", lambda: times_vector[64](a, x, out), out, lambda: a @ x, 1e-4)


def _dequantised() -> Case:
    x, weight = normal(256, 512, dtype=np.float16), whole(128, 512, 512, dtype=np.int8, low=-127)
    scale = (positive(8, 512) / 128).astype(np.float16)
    out = np.zeros((256, 512), np.float16)
    return Case("GEMM, int8 weights", lambda: dequantised[4, 8](x, weight, scale, out), out,
                lambda: dequantised_plain(x, weight, scale), 2e-3)


def _attention(name: str, dtype: Any, causal: bool, close: float) -> Case:
    q, k, v = (normal(8, 512, 64, dtype=dtype, seed=s) for s in range(3))
    out = np.zeros_like(q)
    return Case(f"attention {name}", lambda: attention[8, 8](q, k, v, out, causal), out,
                lambda: attention_plain(q, k, v, causal).astype(dtype), close)


CASES: tuple[Callable[[], Case], ...] = (
    partial(_product, "f32, 64x64x32", (64, 64, 32)),
    partial(_product, "f32, 128x128x64", (128, 128, 64)),
    partial(_product, "f32, 16x16x16", (16, 16, 16), n=256),
    partial(_product, "f16, 64x64x32", (64, 64, 32), np.float16, close=2e-3),
    partial(_product, "bf16, 64x64x32", (64, 64, 32), ml_dtypes.bfloat16, close=2e-2),
    partial(_product, "tf32, 64x64x32", (64, 64, 32), close=2e-3, kernel=product_tf32),
    _int8, _batched, _times_vector, _dequantised,
    partial(_attention, "f32", np.float32, False, 1e-5),
    partial(_attention, "f16, causal", np.float16, True, 2e-3),
)
