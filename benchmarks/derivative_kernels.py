"""Forward kernels whose gradients are derived, in plain words: float32 inside, results in the arrays' dtype."""

import tilewright as tw

ZERO, LOWEST = tw.PaddingMode.ZERO, tw.PaddingMode.NEG_INF
LOG2E = 1.4426950408889634
HIDDEN = -1e30  # the score of a key that a query does not see


@tw.tile_kernel
def softmax(x, out, rows: tw.Constant[int], width: tw.Constant[int]):
    i = tw.bid(0)
    t = tw.load(x, (i, 0), (rows, width), padding_mode=LOWEST).astype(tw.float32)
    e = tw.exp(t - tw.max(t, axis=1, keepdims=True))
    tw.store(out, (i, 0), (e * (1.0 / tw.sum(e, axis=1, keepdims=True))).astype(out.dtype))


@tw.tile_kernel
def layer_norm(x, weight, bias, out, eps: float, rows: tw.Constant[int], width: tw.Constant[int]):
    """Each block walks over rows: what the weights' gradients gain from them stays in registers."""
    n = x.shape[1]
    w = tw.load(weight, 0, width, padding_mode=ZERO).astype(tw.float32).reshape((1, width))
    b = tw.load(bias, 0, width, padding_mode=ZERO).astype(tw.float32).reshape((1, width))
    inside = (tw.arange(width, dtype=tw.int32) < n)[None, :]
    for i in range(tw.bid(0), tw.cdiv(x.shape[0], rows), tw.num_blocks(0)):
        t = tw.load(x, (i, 0), (rows, width), padding_mode=ZERO).astype(tw.float32)
        t = tw.where(inside, t - tw.sum(t, axis=1, keepdims=True) / n, 0.0)
        scale = tw.rsqrt(tw.sum(t * t, axis=1, keepdims=True) / n + eps)
        tw.store(out, (i, 0), (t * scale * w + b).astype(out.dtype))


@tw.tile_kernel
def cross_entropy(logits, labels, loss, lse, chunk: tw.Constant[int]):
    """Classes in chunks, with a running maximum and sum; `lse` becomes the logarithm of each row's sum."""
    i = tw.bid(0)
    label = tw.load(labels, i, ())
    top, total = tw.full((1, 1), HIDDEN, tw.float32), tw.zeros((1, 1), tw.float32)
    chosen = tw.zeros((1, 1), tw.float32)
    for k in range(tw.cdiv(logits.shape[1], chunk)):
        t = tw.load(logits, (i, k), (1, chunk), padding_mode=LOWEST).astype(tw.float32)
        here = tw.arange(chunk, dtype=tw.int32)[None, :] + k * chunk == label
        chosen += tw.sum(tw.where(here, t, 0.0), axis=1, keepdims=True)
        higher = tw.maximum(top, tw.max(t, axis=1, keepdims=True))
        total = total * tw.exp(top - higher) + tw.sum(tw.exp(t - higher), axis=1, keepdims=True)
        top = higher
    logarithm = top + tw.log(total)
    tw.store(lse, i, logarithm.reshape((1,)))
    tw.store(loss, i, (logarithm - chosen).reshape((1,)))


@tw.tile_kernel
def linear(x, w, bias, out, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """out = x @ w + bias, a tile for each block."""
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.num_tiles(x, 1, (tm, tk))):
        left = tw.load(x, (i, k), (tm, tk), padding_mode=ZERO)
        acc = tw.mma(left, tw.load(w, (k, j), (tk, tn), padding_mode=ZERO), acc)
    tw.store(out, (i, j), (acc + tw.load(bias, j, tn).astype(tw.float32)[None, :]).astype(out.dtype))


@tw.tile_kernel
def gelu(x, out, tile: tw.Constant[int]):
    i = tw.bid(0)
    t = tw.load(x, i, tile).astype(tw.float32)
    tw.store(out, i, (0.5 * t * (1.0 + tw.erf(t * 0.7071067811865476))).astype(out.dtype))


@tw.tile_kernel
def attention(q, k, v, out, lse, scale: float, tm: tw.Constant[int], tn: tw.Constant[int], d: tw.Constant[int],
              causal: tw.Constant[bool]):
    """q, k, v, out: (heads, tokens, d), lse: (heads, tokens), in powers of two. Grid: (tiles of queries, heads)."""
    i, head, tokens = tw.bid(0), tw.bid(1), k.shape[1]
    query = tw.load(q, (head, i, 0), (1, tm, d), padding_mode=ZERO).reshape((tm, d))
    factor = scale * LOG2E
    top, total = tw.full((tm, 1), HIDDEN, tw.float32), tw.zeros((tm, 1), tw.float32)
    acc = tw.zeros((tm, d), tw.float32)
    row = i * tm + tw.arange(tm, dtype=tw.int32)[:, None]
    for j in range(tw.cdiv(min((i + 1) * tm, tokens) if causal else tokens, tn)):
        key = tw.load(k, (head, j, 0), (1, tn, d), padding_mode=ZERO).reshape((tn, d))
        score = tw.mma(query, key.transpose(), tw.zeros((tm, tn), tw.float32)) * factor
        column = j * tn + tw.arange(tn, dtype=tw.int32)[None, :]
        seen = column < tokens
        score = tw.where(seen & (column <= row) if causal else seen, score, HIDDEN)
        higher = tw.maximum(top, tw.max(score, axis=1, keepdims=True))
        weight, shrink = tw.exp2(score - higher, flush_to_zero=True), tw.exp2(top - higher, flush_to_zero=True)
        total = total * shrink + tw.sum(weight, axis=1, keepdims=True)
        value = tw.load(v, (head, j, 0), (1, tn, d), padding_mode=ZERO).reshape((tn, d))
        acc = tw.mma(weight.astype(v.dtype), value, acc * shrink)
        top = higher
    tw.store(out, (head, i, 0), (acc / total).astype(out.dtype).reshape((1, tm, d)))
    tw.store(lse, (head, i), (top + tw.log2(total)).reshape((1, tm)))
