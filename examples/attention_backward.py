"""Gradients of attention: the weights are rematerialised from the scores and the saved logarithms of their sums.

One kernel goes over key tiles and sums over the queries behind them, one over query tiles and sums over the keys before
them, so nothing has to be added atomically and the result is the same in every run.
"""

import itertools
import math

import numpy as np
from _places import check, places
from attention import LOG2_E, ZERO, causal_weights, inputs, reference

import tilewright as tw


def rows_of(view, index, head, tile, d):
    """A (tile, d) tile of the (tokens, heads, d) view."""
    return tw.load(view, (index, head, 0), (tile, 1, d), padding_mode=ZERO).reshape((tile, d))


def column_of(view, head, index, tile):
    """A (tile, 1) tile of the (heads, tokens) view."""
    return tw.load(view, (head, index), (1, tile), padding_mode=ZERO).reshape((tile, 1))


def causal_weight(query, key, lse, row, column, scale):
    """The attention weights as the forward pass had them, (queries, keys)."""
    score = tw.mma(query, key.transpose(), tw.zeros((query.shape[0], key.shape[0]), tw.float32))
    weight = tw.exp2(score * (scale * LOG2_E) - lse * LOG2_E)
    return tw.where(column <= row, weight, 0.0)


def score_gradient(weight, grad, value, delta):
    """Gradient of the scores from that of the outputs: weight * (grad @ value.T - delta)."""
    return weight * (tw.mma(grad, value.transpose(), tw.zeros(weight.shape, tw.float32)) - delta)


@tw.tile_kernel
def row_products(out, grad, delta, tm: tw.Constant[int], d: tw.Constant[int]):
    """delta[head, token] = sum over d of out * grad."""
    i, head = tw.bid(0), tw.bid(1)
    product = rows_of(out, i, head, tm, d).astype(tw.float32) * rows_of(grad, i, head, tm, d).astype(tw.float32)
    tw.store(delta, (head, i), tw.sum(product, axis=1).reshape((1, tm)))


@tw.tile_kernel
def key_gradients(q, k, v, grad, lse, delta, starts, dk, dv, scale: float, tm: tw.Constant[int],
                  tn: tw.Constant[int], d: tw.Constant[int]):
    """Grid: tiles of tn keys in the longest sequence, key heads, sequences."""
    j, shared, sequence = tw.bid(0), tw.bid(1), tw.bid(2)
    start, stop = tw.gather(starts, sequence), tw.gather(starts, sequence + 1)
    length = stop - start
    if j * tn >= length:
        return
    queries, grads = q.slice(0, start, stop), grad.slice(0, start, stop)
    sums, deltas = lse.slice(1, start, stop), delta.slice(1, start, stop)
    key = rows_of(k.slice(0, start, stop), j, shared, tn, d)
    value = rows_of(v.slice(0, start, stop), j, shared, tn, d)
    column = j * tn + tw.arange(tn, dtype=tw.int32)[None, :]
    key_sum, value_sum = tw.zeros((tn, d), tw.float32), tw.zeros((tn, d), tw.float32)
    group = q.shape[1] // k.shape[1]
    for head in range(shared * group, (shared + 1) * group):
        for i in range(j * tn // tm, tw.cdiv(length, tm)):
            row = i * tm + tw.arange(tm, dtype=tw.int32)[:, None]
            # Queries past the end are zeros and so are their gradients: they add nothing.
            query, above = rows_of(queries, i, head, tm, d), rows_of(grads, i, head, tm, d)
            weight = causal_weight(query, key, column_of(sums, head, i, tm), row, column, scale)
            value_sum = tw.mma(weight.astype(q.dtype).transpose(), above, value_sum)
            slope = score_gradient(weight, above, value, column_of(deltas, head, i, tm))
            key_sum = tw.mma(slope.astype(q.dtype).transpose(), query, key_sum)
    tw.store(dk.slice(0, start, stop), (j, shared, 0), (key_sum * scale).astype(dk.dtype).reshape((tn, 1, d)))
    tw.store(dv.slice(0, start, stop), (j, shared, 0), value_sum.astype(dv.dtype).reshape((tn, 1, d)))


@tw.tile_kernel
def query_gradients(q, k, v, grad, lse, delta, starts, dq, scale: float, tm: tw.Constant[int],
                    tn: tw.Constant[int], d: tw.Constant[int]):
    """Grid: tiles of tm queries in the longest sequence, heads, sequences."""
    i, head, sequence = tw.bid(0), tw.bid(1), tw.bid(2)
    start, stop = tw.gather(starts, sequence), tw.gather(starts, sequence + 1)
    length = stop - start
    if i * tm >= length:
        return
    keys, values = k.slice(0, start, stop), v.slice(0, start, stop)
    shared = head // (q.shape[1] // k.shape[1])
    query = rows_of(q.slice(0, start, stop), i, head, tm, d)
    above = rows_of(grad.slice(0, start, stop), i, head, tm, d)
    log_sum = column_of(lse.slice(1, start, stop), head, i, tm)
    product = column_of(delta.slice(1, start, stop), head, i, tm)
    row = i * tm + tw.arange(tm, dtype=tw.int32)[:, None]
    total = tw.zeros((tm, d), tw.float32)
    for j in range(tw.cdiv(min((i + 1) * tm, length), tn)):
        key, value = rows_of(keys, j, shared, tn, d), rows_of(values, j, shared, tn, d)
        column = j * tn + tw.arange(tn, dtype=tw.int32)[None, :]
        weight = causal_weight(query, key, log_sum, row, column, scale)
        total = tw.mma(score_gradient(weight, above, value, product).astype(q.dtype), key, total)
    tw.store(dq.slice(0, start, stop), (i, head, 0), (total * scale).astype(dq.dtype).reshape((tm, 1, d)))


def gradients(q, k, v, grad, starts, scale):
    """dq, dk, dv in float64."""
    dq, dk, dv = np.zeros(q.shape), np.zeros(k.shape), np.zeros(v.shape)
    group = q.shape[1] // k.shape[1]
    for start, stop in itertools.pairwise(starts):
        for head in range(q.shape[1]):
            mine, shared = (slice(start, stop), head), (slice(start, stop), head // group)
            weight, _ = causal_weights(q[mine], k[shared], scale)
            above, query = grad[mine].astype(np.float64), q[mine].astype(np.float64)
            key, value = k[shared].astype(np.float64), v[shared].astype(np.float64)
            dv[shared] += weight.T @ above
            to_weight = above @ value.T
            slope = weight * (to_weight - (weight * to_weight).sum(axis=1, keepdims=True))
            dq[mine] = slope @ key * scale
            dk[shared] += slope.T @ query * scale
    return dq, dk, dv


def main() -> None:
    rng = np.random.default_rng(41)
    for lengths, heads, key_heads, d in (((40, 1, 90), 4, 2, 64), ((50,), 2, 2, 32)):
        q, k, v, starts = inputs(lengths, heads, key_heads, d, rng)
        grad = rng.standard_normal(q.shape).astype(np.float16)
        scale = 1 / math.sqrt(d)
        out, lse = reference(q, k, v, starts, scale)
        wants = gradients(q, k, v, grad, starts, scale)
        query_tiles, key_tiles, count = tw.cdiv(max(lengths), 32), tw.cdiv(max(lengths), 32), len(lengths)
        for place in places():
            given = place.put(q, k, v, grad, lse.astype(np.float32), np.empty(lse.shape, np.float32), starts)
            got = place.put(*(np.empty_like(x) for x in (q, k, v)))
            row_products[(tw.cdiv(len(q), 32), heads)](place.put(out.astype(np.float16)), given[3], given[5], 32, d)
            key_gradients[(key_tiles, key_heads, count)](*given, got[1], got[2], scale, 32, 32, d)
            query_gradients[(query_tiles, heads, count)](*given, got[0], scale, 32, 32, d)
            for name, mine, want in zip("qkv", got, wants, strict=True):
                # Weights and their gradients are rounded to float16 before they are multiplied.
                check(f"gradient of {name}, {count} x {heads} heads of {d}", place, place.get(mine), want,
                      bound=2.0**-11 * (np.abs(want) + 2 * math.sqrt(d)))


if __name__ == "__main__":
    main()
