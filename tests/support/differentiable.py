"""Kernels whose gradients are known: of layers, losses, attention, a convolution, a scan and an embedding."""

from __future__ import annotations

from math import sqrt
from typing import Any

import tilewright as tw

ZERO, LOW = tw.PaddingMode.ZERO, tw.PaddingMode.NEG_INF


def gelu_of(t: Any) -> Any:
    return 0.5 * t * (1.0 + tw.erf(t * (1 / sqrt(2))))


@tw.tile_kernel
def gelu(x, out):
    i = tw.bid(0)
    tw.store(out, i, gelu_of(tw.load(x, i, 8)))


@tw.tile_kernel
def softmax(x, out, N: tw.Constant[int]):
    i = tw.bid(0)
    e = tw.load(x, (i, 0), (2, N), padding_mode=LOW)
    e = tw.exp(e - tw.max(e, axis=1, keepdims=True))
    tw.store(out, (i, 0), e / tw.sum(e, axis=1, keepdims=True))


@tw.tile_kernel
def layer_norm(x, w, b, out, eps, N: tw.Constant[int]):
    i = tw.bid(0)
    n = x.shape[1]
    t = tw.load(x, (i, 0), (2, N), padding_mode=ZERO)
    inside = (tw.arange(N, dtype=tw.int32) < n)[None, :]
    mean = tw.sum(t, axis=1, keepdims=True) / n
    t = tw.where(inside, t - mean, 0.0)
    scale = tw.rsqrt(tw.sum(t * t, axis=1, keepdims=True) / n + eps)
    weight, bias = tw.load(w, 0, N, padding_mode=ZERO), tw.load(b, 0, N, padding_mode=ZERO)
    tw.store(out, (i, 0), (t * scale * weight[None, :] + bias[None, :]).astype(out.dtype))


@tw.tile_kernel
def rms_norm(x, w, out, N: tw.Constant[int]):
    i = tw.bid(0)
    t = tw.load(x, (i, 0), (1, N), padding_mode=ZERO)
    scale = tw.rsqrt(tw.sum(t * t, axis=1, keepdims=True) / x.shape[1] + 1e-6)
    tw.store(out, (i, 0), t * scale * tw.load(w, 0, N, padding_mode=ZERO)[None, :])


@tw.tile_kernel
def linear_gelu(x, w, b, out, TM: tw.Constant[int], TN: tw.Constant[int], TK: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((TM, TN), x.dtype)
    for k in range(tw.cdiv(x.shape[1], TK)):
        left = tw.load(x, (i, k), (TM, TK), padding_mode=ZERO)
        acc = tw.mma(left, tw.load(w, (k, j), (TK, TN), padding_mode=ZERO), acc)
    tw.store(out, (i, j), gelu_of(acc + tw.load(b, j, TN)[None, :]))


@tw.tile_kernel
def cross_entropy(logits, labels, loss, N: tw.Constant[int]):
    """The columns in chunks of N, with a running maximum and sum."""
    i = tw.bid(0)
    label = tw.load(labels, i, ())
    top, total = tw.full((1, 1), -1e300, logits.dtype), tw.zeros((1, 1), logits.dtype)
    chosen = tw.zeros((), logits.dtype)
    for k in range(tw.cdiv(logits.shape[1], N)):
        t = tw.load(logits, (i, k), (1, N), padding_mode=LOW)
        here = tw.equal(tw.arange(N, dtype=tw.int32) + k * N, label)
        chosen = chosen + tw.sum(tw.where(here[None, :], t, 0.0))
        higher = tw.maximum(top, tw.max(t, axis=1, keepdims=True))
        total = total * tw.exp(top - higher) + tw.sum(tw.exp(t - higher), axis=1, keepdims=True)
        top = higher
    tw.store(loss, i, tw.reshape(tw.log(total) + top, ()) - chosen)


@tw.tile_kernel
def rotary(x, cos, sin, out, HALF: tw.Constant[int]):
    i = tw.bid(0)
    a, b = tw.load(x, (i, 0), (2, HALF)), tw.load(x, (i, 1), (2, HALF))
    c, s = tw.load(cos, (i, 0), (2, HALF)), tw.load(sin, (i, 0), (2, HALF))
    tw.store(out, (i, 0), a * c - b * s)
    tw.store(out, (i, 1), b * c + a * s)


@tw.tile_kernel
def convolution(x, w, out, TAPS: tw.Constant[int]):
    """out[i] = sum of x[i + tap] w[tap], gathered: blocks overlap in what they read."""
    i = tw.bid(0) * 8 + tw.arange(8, dtype=tw.int32)
    acc = tw.zeros((8,), x.dtype)
    for tap in range(TAPS):
        acc = acc + tw.gather(x, i + tap) * tw.load(w, tap, ())
    tw.scatter(out, i, acc)


@tw.tile_kernel
def attention(q, k, v, out, SCALE: tw.Constant[float], D: tw.Constant[int], CAUSAL: tw.Constant[bool]):
    i = tw.bid(0)
    rows = tw.load(q, (i, 0), (4, D), padding_mode=ZERO)
    top, total, acc = tw.full((4, 1), -1e300, q.dtype), tw.zeros((4, 1), q.dtype), tw.zeros((4, D), q.dtype)
    for j in range(i + 1 if CAUSAL else tw.cdiv(k.shape[0], 4)):
        keys = tw.load(k, (j, 0), (4, D), padding_mode=ZERO)
        s = tw.mma(rows, tw.transpose(keys), tw.zeros((4, 4), q.dtype)) * SCALE
        column, row = tw.arange(4, dtype=tw.int32)[None, :] + j * 4, tw.arange(4, dtype=tw.int32)[:, None] + i * 4
        seen = (column <= row) if CAUSAL else tw.broadcast_to(column < k.shape[0], (4, 4))
        s = tw.where(seen, s, -1e300)
        higher = tw.maximum(top, tw.max(s, axis=1, keepdims=True))
        p, scale = tw.exp(s - higher), tw.exp(top - higher)
        total = total * scale + tw.sum(p, axis=1, keepdims=True)
        acc = tw.mma(p, tw.load(v, (j, 0), (4, D), padding_mode=ZERO), acc * scale)
        top = higher
    tw.store(out, (i, 0), acc / total)


@tw.tile_kernel
def recurrence(a, b, out, T: tw.Constant[int]):
    """h[t] = a[t] h[t-1] + b[t], by a scan of pairs."""
    i = tw.bid(0)

    def after(p, q, r, s):
        return p * r, q * r + s

    _, h = tw.scan((tw.load(a, (i, 0), (1, T)), tw.load(b, (i, 0), (1, T))), 1, after, (1.0, 0.0))
    tw.store(out, (i, 0), h)


@tw.tile_kernel
def embedding(table, rows, out):
    i = tw.bid(0)
    at = tw.load(rows, i, 4)
    columns = tw.arange(8, dtype=tw.int32)[None, :]
    tw.store(out, (i, 0), tw.gather(table, (at[:, None], columns)))
