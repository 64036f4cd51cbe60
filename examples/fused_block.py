"""LayerNorm, Linear, GELU and Dropout in one kernel: of four steps only the first reads x, and only the last writes.

A block normalises the rows that it multiplies, so neither the normalised rows nor the sums ever go to memory.
"""

import math

import numpy as np
from _places import check, places

import tilewright as tw

ZERO = tw.PaddingMode.ZERO
TM, TN, TK = 32, 64, 64


def mean_and_rstd(x, i, eps, tm, tk):
    """Mean and reciprocal standard deviation of each row of tile i of x: two columns."""
    n = x.shape[1]
    total, square = tw.zeros((tm, 1), tw.float32), tw.zeros((tm, 1), tw.float32)
    shift = tw.load(x, (i, 0), (tm, 1)).astype(tw.float32)  # near the mean, so that squares lose few digits
    for k in range(tw.cdiv(n, tk)):
        inside = k * tk + tw.arange(tk, dtype=tw.int32) < n
        t = tw.where(inside, tw.load(x, (i, k), (tm, tk), padding_mode=ZERO).astype(tw.float32) - shift, 0.0)
        total += tw.sum(t, axis=1, keepdims=True)
        square += tw.sum(t * t, axis=1, keepdims=True)
    mean = total / n
    return mean + shift, tw.rsqrt(square / n - mean * mean + eps)


@tw.tile_kernel
def fused_block(x, gamma, beta, w, bias, out, eps: float, rate: float, seed, tm: tw.Constant[int],
                tn: tw.Constant[int], tk: tw.Constant[int]):
    """out = dropout(gelu(layer_norm(x) @ w + bias)). x: (tokens, k), gamma, beta: (k,), w: (k, n), bias: (n,)."""
    i, j = tw.bid(0), tw.bid(1)
    mean, rstd = mean_and_rstd(x, i, eps, tm, tk)
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.num_tiles(x, 1, (tm, tk))):
        t = tw.load(x, (i, k), (tm, tk), padding_mode=ZERO).astype(tw.float32)
        # Behind the last column gamma and beta are zero, and so is what is multiplied.
        scale, shift = tw.load(gamma, k, tk, padding_mode=ZERO), tw.load(beta, k, tk, padding_mode=ZERO)
        normal = (t - mean) * rstd * scale + shift
        acc = tw.mma(normal.astype(w.dtype), tw.load(w, (k, j), (tk, tn), padding_mode=ZERO), acc)
    acc += tw.load(bias, j, tn, padding_mode=ZERO)
    gelu = 0.5 * acc * (1.0 + tw.erf(acc * math.sqrt(0.5)))
    # The random number of an element belongs to its place in out, so the backward pass can make it again.
    row = i * tm + tw.arange(tm, dtype=tw.int32)[:, None]
    column = j * tn + tw.arange(tn, dtype=tw.int32)[None, :]
    keep = tw.random.uniform(seed, row, column) >= rate
    tw.store(out, (i, j), tw.where(keep, gelu / (1.0 - rate), 0.0).astype(out.dtype))


def reference(x: np.ndarray, gamma: np.ndarray, beta: np.ndarray, w: np.ndarray, bias: np.ndarray,
              eps: float) -> np.ndarray:
    """gelu(layer_norm(x) @ w + bias) in float64."""
    x, gamma, beta, w, bias = (a.astype(np.float64) for a in (x, gamma, beta, w, bias))
    normal = (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + eps) * gamma + beta
    total = normal @ w + bias
    return 0.5 * total * (1 + np.vectorize(math.erf)(total * math.sqrt(0.5)))


def main() -> None:
    rng = np.random.default_rng(50)
    tokens, k, n, eps, rate = 100, 200, 136, 1e-5, 0.25
    x = (rng.standard_normal((tokens, k)) + 3).astype(np.float16)
    gamma, beta = (rng.standard_normal(k, dtype=np.float32) for _ in range(2))
    w = (rng.standard_normal((k, n)) / math.sqrt(k)).astype(np.float16)
    bias = rng.standard_normal(n, dtype=np.float32)
    want = reference(x, gamma, beta, w, bias, eps)
    bound = 2.0**-10 * (np.abs(want) + 4)  # normalised rows and the result are rounded to float16
    for place in places():
        given = place.put(x, gamma, beta, w, bias)
        grid = tw.cdiv(tokens, TM), tw.cdiv(n, TN)
        fused_block[grid](*given, out := place.put(np.empty((tokens, n), np.float16)), eps, 0.0, 7, TM, TN, TK)
        check("layer norm, linear, gelu", place, place.get(out), want, bound)
        fused_block[grid](*given, out := place.put(np.empty((tokens, n), np.float16)), eps, rate, 7, TM, TN, TK)
        got = place.get(out)
        keep = got != 0
        assert abs(keep.mean() - (1 - rate)) < 0.02
        check("the same with dropout", place, got, np.where(keep, want / (1 - rate), 0), bound / (1 - rate))


if __name__ == "__main__":
    main()
