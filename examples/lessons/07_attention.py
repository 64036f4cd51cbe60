"""Lesson 7, attention: docs/lessons/07-attention.md reads it cell by cell."""

# %% The formula
import math

import numpy as np

import tilewright as tw

ZERO = tw.PaddingMode.ZERO

rng = np.random.default_rng(0)
queries, keys, d = 200, 300, 64
q = rng.standard_normal((queries, d)).astype(np.float16)
k = rng.standard_normal((keys, d)).astype(np.float16)
v = rng.standard_normal((keys, d)).astype(np.float16)
scale = 1 / math.sqrt(d)


def attention_numpy(q, k, v, scale, causal=False):
    scores = q.astype(np.float64) @ k.astype(np.float64).T * scale
    if causal:
        scores[np.triu_indices(len(scores), 1, scores.shape[1])] = -np.inf
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True) @ v.astype(np.float64)


want = attention_numpy(q, k, v, scale)


# %% Scores in memory
@tw.tile_kernel
def score(q, k, out, scale: float, tm: tw.Constant[int], tn: tw.Constant[int], d: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    query = tw.load(q, (i, 0), (tm, d), padding_mode=ZERO)
    key = tw.load(k, (0, j), (d, tn), order="F", padding_mode=ZERO)
    tw.store(out, (i, j), (tw.mma(query, key, tw.zeros((tm, tn), tw.float32)) * scale).astype(out.dtype))


scores = np.zeros((queries, keys), np.float32)
score[(tw.cdiv(queries, 64), tw.cdiv(keys, 64))](q, k, scores, scale, 64, 64, d)
print(np.allclose(scores, q.astype(np.float64) @ k.T.astype(np.float64) * scale, atol=1e-4))    # True

# %% How large the scores are
tokens, heads = 16384, 32
print(tokens * tokens * heads * 2 / 2**30, "GiB of scores")             # 16.0 GiB of scores
print(4 * tokens * heads * 128 * 2 / 2**30, "GiB of q, k, v and out")   # 0.5 GiB of q, k, v and out


# %% In one pass
@tw.tile_kernel
def attention(q, k, v, out, scale: float, tm: tw.Constant[int], tn: tw.Constant[int], d: tw.Constant[int]):
    i = tw.bid(0)
    query = tw.load(q, (i, 0), (tm, d), padding_mode=ZERO)
    top = tw.full((tm, 1), -math.inf, tw.float32)       # the maximum of each row so far
    total = tw.zeros((tm, 1), tw.float32)               # the sum of its exponentials, relative to `top`
    acc = tw.zeros((tm, d), tw.float32)                 # the sum of weights times values, relative to `top`
    for j in range(tw.cdiv(k.shape[0], tn)):
        key = tw.load(k, (0, j), (d, tn), order="F", padding_mode=ZERO)
        t = tw.mma(query, key, tw.zeros((tm, tn), tw.float32)) * scale
        column = j * tn + tw.arange(tn, dtype=tw.int32)
        t = tw.where(column < k.shape[0], t, -math.inf)             # keys past the end get no weight
        higher = tw.maximum(top, tw.max(t, axis=1, keepdims=True))
        weight = tw.exp(t - higher)
        shrink = tw.exp(top - higher)                               # what was added up so far counts in old units
        total = total * shrink + tw.sum(weight, axis=1, keepdims=True)
        value = tw.load(v, (j, 0), (tn, d), padding_mode=ZERO)
        acc = tw.mma(weight.astype(v.dtype), value, acc * shrink)
        top = higher
    tw.store(out, (i, 0), (acc / total).astype(out.dtype))


out = np.zeros_like(q)
attention[(tw.cdiv(queries, 64),)](q, k, v, out, scale, 64, 64, d)
print(np.abs(out - want).max() < 2e-3)                  # True


# %% Bytes
def bytes_moved(kernel, grid, *args):
    """The bytes that all blocks of a launch load and store."""
    rows = tw.trace(kernel, grid, *args).rows
    return sum(row.value.nbytes for row in rows if row.op in ("load", "store"))


small = rng.standard_normal((3, 256, 64)).astype(np.float16)
result, scores = np.zeros((256, 64), np.float16), np.zeros((256, 256), np.float16)
print(bytes_moved(attention, (2,), *small, result, scale, 128, 64, 64))                 # 196608
print(bytes_moved(score, (2, 4), *small[:2], scores, scale, 128, 64, 64) - scores.nbytes)   # 196608
print(scores.nbytes)                                                                    # 131072


# %% Causal
@tw.tile_kernel
def causal_attention(q, k, v, out, scale: float, tm: tw.Constant[int], tn: tw.Constant[int], d: tw.Constant[int]):
    i, head = tw.bid(0), tw.bid(1)
    query = tw.load(q, (head, i, 0), (1, tm, d), padding_mode=ZERO).reshape((tm, d))
    row = i * tm + tw.arange(tm, dtype=tw.int32)[:, None]
    top = tw.full((tm, 1), -math.inf, tw.float32)
    total = tw.zeros((tm, 1), tw.float32)
    acc = tw.zeros((tm, d), tw.float32)
    for j in range(tw.cdiv(min((i + 1) * tm, k.shape[1]), tn)):     # no keys beyond the last query of this tile
        key = tw.load(k, (head, 0, j), (1, d, tn), order=(0, 2, 1), padding_mode=ZERO).reshape((d, tn))
        t = tw.mma(query, key, tw.zeros((tm, tn), tw.float32)) * scale
        column = j * tn + tw.arange(tn, dtype=tw.int32)
        t = tw.where(column <= row, t, -math.inf)
        higher = tw.maximum(top, tw.max(t, axis=1, keepdims=True))
        weight = tw.exp(t - higher)
        shrink = tw.exp(top - higher)
        total = total * shrink + tw.sum(weight, axis=1, keepdims=True)
        value = tw.load(v, (head, j, 0), (1, tn, d), padding_mode=ZERO).reshape((tn, d))
        acc = tw.mma(weight.astype(v.dtype), value, acc * shrink)
        top = higher
    tw.store(out, (head, i, 0), (acc / total).astype(out.dtype).reshape((1, tm, d)))


q3, k3, v3 = rng.standard_normal((3, 2, 200, 64)).astype(np.float16)    # two heads
out = np.zeros_like(q3)
causal_attention[(tw.cdiv(200, 64), 2)](q3, k3, v3, out, scale, 64, 32, 64)
for head in range(2):
    print(np.abs(out[head] - attention_numpy(q3[head], k3[head], v3[head], scale, causal=True)).max() < 4e-3)
    # True
    # True


# %% Solution 1
@tw.tile_kernel
def attention_exp2(q, k, v, out, scale: float, tm: tw.Constant[int], tn: tw.Constant[int], d: tw.Constant[int]):
    i = tw.bid(0)
    query = tw.load(q, (i, 0), (tm, d), padding_mode=ZERO)
    top = tw.full((tm, 1), -math.inf, tw.float32)
    total = tw.zeros((tm, 1), tw.float32)
    acc = tw.zeros((tm, d), tw.float32)
    for j in range(tw.cdiv(k.shape[0], tn)):
        key = tw.load(k, (0, j), (d, tn), order="F", padding_mode=ZERO)
        t = tw.mma(query, key, tw.zeros((tm, tn), tw.float32)) * (scale * math.log2(math.e))
        t = tw.where(j * tn + tw.arange(tn, dtype=tw.int32) < k.shape[0], t, -math.inf)
        higher = tw.maximum(top, tw.max(t, axis=1, keepdims=True))
        weight, shrink = tw.exp2(t - higher), tw.exp2(top - higher)
        total = total * shrink + tw.sum(weight, axis=1, keepdims=True)
        value = tw.load(v, (j, 0), (tn, d), padding_mode=ZERO)
        acc = tw.mma(weight.astype(v.dtype), value, acc * shrink)
        top = higher
    tw.store(out, (i, 0), (acc / total).astype(out.dtype))


out = np.zeros_like(q)
attention_exp2[(tw.cdiv(queries, 64),)](q, k, v, out, scale, 64, 64, d)
print(np.abs(out - want).max() < 2e-3)                  # True


# %% Solution 2
def window_numpy(q, k, v, scale, window):
    scores = q.astype(np.float64) @ k.astype(np.float64).T * scale
    rows, columns = np.indices(scores.shape)
    scores[(columns > rows) | (columns <= rows - window)] = -np.inf
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True) @ v.astype(np.float64)


@tw.tile_kernel
def window_attention(q, k, v, out, scale: float, window, tm: tw.Constant[int], tn: tw.Constant[int],
                     d: tw.Constant[int]):
    i = tw.bid(0)
    query = tw.load(q, (i, 0), (tm, d), padding_mode=ZERO)
    row = i * tm + tw.arange(tm, dtype=tw.int32)[:, None]
    top = tw.full((tm, 1), -1e30, tw.float32)           # finite: a row may meet a tile without a key of its own
    total = tw.zeros((tm, 1), tw.float32)
    acc = tw.zeros((tm, d), tw.float32)
    first = max(i * tm - window + 1, 0) // tn
    for j in range(first, tw.cdiv(min((i + 1) * tm, k.shape[0]), tn)):
        key = tw.load(k, (0, j), (d, tn), order="F", padding_mode=ZERO)
        t = tw.mma(query, key, tw.zeros((tm, tn), tw.float32)) * scale
        column = j * tn + tw.arange(tn, dtype=tw.int32)
        t = tw.where((column <= row) & (column > row - window), t, -math.inf)
        higher = tw.maximum(top, tw.max(t, axis=1, keepdims=True))
        weight, shrink = tw.exp(t - higher), tw.exp(top - higher)
        total = total * shrink + tw.sum(weight, axis=1, keepdims=True)
        value = tw.load(v, (j, 0), (tn, d), padding_mode=ZERO)
        acc = tw.mma(weight.astype(v.dtype), value, acc * shrink)
        top = higher
    tw.store(out, (i, 0), (acc / total).astype(out.dtype))


out = np.zeros_like(q3[0])
window_attention[(tw.cdiv(200, 64),)](q3[0], k3[0], v3[0], out, scale, 50, 64, 32, 64)
print(np.abs(out - window_numpy(q3[0], k3[0], v3[0], scale, 50)).max() < 4e-3)          # True
