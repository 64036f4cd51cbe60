"""Attention in one pass: causal, several query heads per key head, sequences of many lengths packed behind each other.

The scores exist only as a tile in registers: a running maximum and sum per row make the softmax (online softmax).
"""

import itertools
import math

import numpy as np
from _places import check, places

import tilewright as tw

ZERO = tw.PaddingMode.ZERO
LOG2_E = math.log2(math.e)


@tw.tile_kernel
def attention(q, k, v, starts, out, lse, scale: float, tm: tw.Constant[int], tn: tw.Constant[int],
              d: tw.Constant[int]):
    """q, out: (tokens, heads, d), k, v: (tokens, key heads, d), lse: (heads, tokens), starts: (sequences + 1,).

    Grid: tiles of tm queries in the longest sequence, heads, sequences.
    """
    i, head, sequence = tw.bid(0), tw.bid(1), tw.bid(2)
    start, stop = tw.gather(starts, sequence), tw.gather(starts, sequence + 1)
    length = stop - start
    if i * tm >= length:
        return
    # Views of one sequence: its end is the end of the array, so neither loads nor stores touch its neighbour.
    keys, values = k.slice(0, start, stop), v.slice(0, start, stop)
    shared = head // (q.shape[1] // k.shape[1])
    query = tw.load(q.slice(0, start, stop), (i, head, 0), (tm, 1, d), padding_mode=ZERO).reshape((tm, d))
    row = i * tm + tw.arange(tm, dtype=tw.int32)[:, None]
    top = tw.full((tm, 1), -math.inf, tw.float32)
    total = tw.zeros((tm, 1), tw.float32)
    acc = tw.zeros((tm, d), tw.float32)
    for j in range(tw.cdiv(min((i + 1) * tm, length), tn)):
        key = tw.load(keys, (0, shared, j), (d, 1, tn), order="F", padding_mode=ZERO).reshape((d, tn))
        score = tw.mma(query, key, tw.zeros((tm, tn), tw.float32)) * (scale * LOG2_E)
        column = j * tn + tw.arange(tn, dtype=tw.int32)[None, :]
        # Padded keys stand behind every true query, so the causal mask hides them too.
        score = tw.where(column <= row, score, -math.inf)
        higher = tw.maximum(top, tw.max(score, axis=1, keepdims=True))
        weight = tw.exp2(score - higher)
        shrink = tw.exp2(top - higher)
        total = total * shrink + tw.sum(weight, axis=1, keepdims=True)
        value = tw.load(values, (j, shared, 0), (tn, 1, d), padding_mode=ZERO).reshape((tn, d))
        acc = tw.mma(weight.astype(v.dtype), value, acc * shrink)
        top = higher
    result = (acc / total).astype(out.dtype)
    tw.store(out.slice(0, start, stop), (i, head, 0), result.reshape((tm, 1, d)))
    # The logarithm of each row's sum is all that the backward pass needs of the softmax.
    tw.store(lse.slice(1, start, stop), (head, i), ((top + tw.log2(total)) / LOG2_E).reshape((1, tm)))


def inputs(lengths, heads, key_heads, d, rng):
    """Packed q, k, v in float16, and where each sequence starts."""
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    shapes = (int(starts[-1]), heads, d), (int(starts[-1]), key_heads, d), (int(starts[-1]), key_heads, d)
    return *(rng.standard_normal(shape).astype(np.float16) for shape in shapes), starts


def causal_weights(q, k, scale):
    """Weights and logarithms of the row sums of one sequence and head, in float64."""
    score = q.astype(np.float64) @ k.astype(np.float64).T * scale
    score[np.triu_indices(len(score), 1)] = -np.inf
    top = score.max(axis=1, keepdims=True)
    total = np.exp(score - top).sum(axis=1, keepdims=True)
    return np.exp(score - top) / total, (top + np.log(total))[:, 0]


def reference(q, k, v, starts, scale):
    """The outputs and the logarithms of the row sums."""
    out, lse = np.zeros(q.shape), np.zeros((q.shape[1], q.shape[0]))
    group = q.shape[1] // k.shape[1]
    for start, stop in itertools.pairwise(starts):
        for head in range(q.shape[1]):
            weight, lse[head, start:stop] = causal_weights(q[start:stop, head], k[start:stop, head // group], scale)
            out[start:stop, head] = weight @ v[start:stop, head // group].astype(np.float64)
    return out, lse


def main() -> None:
    rng = np.random.default_rng(40)
    for lengths, heads, key_heads, d in (((100, 1, 37, 130), 4, 2, 64), ((70,), 2, 2, 32)):
        q, k, v, starts = inputs(lengths, heads, key_heads, d, rng)
        scale = 1 / math.sqrt(d)
        want, want_lse = reference(q, k, v, starts, scale)
        for place in places():
            arrays = place.put(q, k, v, starts, np.empty_like(q), np.empty((heads, len(q)), np.float32))
            attention[(tw.cdiv(max(lengths), 64), heads, len(lengths))](*arrays, scale, 64, 32, d)
            what = f"attention, {len(lengths)} x {heads} heads of {d}"
            # Weights and results are rounded to float16, 2**-11 each; a row of weights sums to 1.
            check(what, place, place.get(arrays[4]), want, bound=2.0**-11 * (np.abs(want) + 1.01 * np.abs(v).max()))
            check(f"{what}: log of sums", place, place.get(arrays[5]), want_lse, bound=1e-5)


if __name__ == "__main__":
    main()
