"""Kernels that only the benchmarks use."""

import math

import tilewright as tw


@tw.tile_kernel
def matmul(a, b, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int], group: tw.Constant[int],
           tf32: tw.Constant[bool]):
    """c = a @ b; blocks that run together share rows of a and columns of b (`group` rows of tiles at a time)."""
    rows, columns = tw.cdiv(a.shape[0], tm), tw.cdiv(b.shape[1], tn)
    block = tw.bid(0)
    first = block // (group * columns) * group
    height = min(rows - first, group)
    inside = block % (group * columns)
    i, j = first + inside % height, inside // height
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.num_tiles(a, 1, (tm, tk))):
        ta = tw.load(a, (i, k), (tm, tk), padding_mode=tw.PaddingMode.ZERO)
        tb = tw.load(b, (k, j), (tk, tn), padding_mode=tw.PaddingMode.ZERO)
        if tf32:
            ta, tb = ta.astype(tw.tfloat32), tb.astype(tw.tfloat32)
        acc = tw.mma(ta, tb, acc)
    tw.store(c, (i, j), acc.astype(c.dtype))


LOG2_E = 1.4426950408889634


@tw.tile_kernel
def attention(q, k, v, out, scale: float, tm: tw.Constant[int], tn: tw.Constant[int], d: tw.Constant[int],
              causal: tw.Constant[bool]):
    """softmax(q k^T * scale) v by blocks of keys. q, k, v, out: (heads, tokens, d). Grid: (tiles of queries, heads)."""
    head, tokens = tw.bid(1), k.shape[1]
    i = tw.num_blocks(0) - 1 - tw.bid(0) if causal else tw.bid(0)  # the longest first
    query = tw.load(q, (head, i, 0), (1, tm, d), padding_mode=tw.PaddingMode.ZERO).reshape((tm, d))
    row = i * tm + tw.arange(tm, dtype=tw.int32)[:, None]
    top = tw.full((tm, 1), -math.inf, tw.float32)
    total = tw.zeros((tm, 1), tw.float32)
    acc = tw.zeros((tm, d), tw.float32)
    last = tw.cdiv(min((i + 1) * tm, tokens) if causal else tokens, tn)
    whole = min(i * tm if causal else tokens, tokens) // tn  # blocks of which no row leaves out any key
    for j in range(whole):
        top, total, acc = block_of_keys(query, k, v, head, j, row, scale, tn, False, causal, top, total, acc)
    for j in range(whole, last):
        top, total, acc = block_of_keys(query, k, v, head, j, row, scale, tn, True, causal, top, total, acc)
    tw.store(out, (head, i, 0), (acc / total).astype(out.dtype).reshape((1, tm, d)))


def block_of_keys(query, k, v, head, j, row, scale, tn, masked, causal, top, total, acc):
    """One step of the online softmax: (greatest score, sum of weights, weighted sum of values)."""
    d = query.shape[1]
    key = tw.load(k, (head, j, 0), (1, tn, d), padding_mode=tw.PaddingMode.ZERO).reshape((tn, d))
    score = tw.mma(query, key.transpose(), tw.zeros((query.shape[0], tn), tw.float32))
    factor = scale * LOG2_E  # above zero, so that the greatest score stays the greatest
    if masked:
        column = j * tn + tw.arange(tn, dtype=tw.int32)[None, :]
        kept = column < k.shape[1]
        if causal:
            kept = kept & (column <= row)
        score = tw.where(kept, score, -math.inf)
    higher = tw.maximum(top, tw.max(score, axis=1, keepdims=True))
    weight = tw.exp2(score * factor - higher * factor)
    shrink = tw.exp2((top - higher) * factor)
    total = total * shrink + tw.sum(weight, axis=1, keepdims=True)
    value = tw.load(v, (head, j, 0), (1, tn, d), padding_mode=tw.PaddingMode.ZERO).reshape((tn, d))
    acc = tw.mma(weight.astype(v.dtype), value, acc * shrink)
    return higher, total, acc
