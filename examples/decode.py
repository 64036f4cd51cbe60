"""One step of decoding, for one sequence and for 64: what is shared by all is read once, what is each one's own is not.

The weights of a projection serve every sequence, so 64 of them take 64 times the operations for hardly more bytes. The
keys and values are each sequence's own: its attention has the same operations per byte, however many there are.
"""

import math

import numpy as np
from _places import check, places

import tilewright as tw

ZERO = tw.PaddingMode.ZERO


@tw.tile_kernel
def project(x, w, out, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """out = x @ w. x: (sequences, k), w: (k, n). Fewer sequences than tm are padded, which costs no bytes."""
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.num_tiles(w, 0, (tk, tn))):
        rows = tw.load(x, (i, k), (tm, tk), padding_mode=ZERO)
        acc = tw.mma(rows, tw.load(w, (k, j), (tk, tn), padding_mode=ZERO), acc)
    tw.store(out, (i, j), acc.astype(out.dtype))


@tw.tile_kernel
def attend(q, keys, values, lengths, out, scale: float, tn: tw.Constant[int], d: tw.Constant[int]):
    """One query of each sequence against its keys so far.

    q, out: (sequences, d), keys, values: (sequences, most, d), lengths: int32.
    """
    s = tw.bid(0)
    query = tw.load(q, (s, 0), (1, d)).astype(tw.float32)
    length = tw.gather(lengths, s)
    top, total = tw.full((1, 1), -math.inf, tw.float32), tw.zeros((1, 1), tw.float32)
    acc = tw.zeros((1, d), tw.float32)
    for j in range(tw.cdiv(length, tn)):
        key = tw.load(keys, (s, j, 0), (1, tn, d), padding_mode=ZERO).reshape((tn, d)).astype(tw.float32)
        score = tw.sum(key * query, axis=1)[:, None] * scale
        score = tw.where(j * tn + tw.arange(tn, dtype=tw.int32)[:, None] < length, score, -math.inf)
        higher = tw.maximum(top, tw.max(score, keepdims=True))
        weight, shrink = tw.exp(score - higher), tw.exp(top - higher)
        value = tw.load(values, (s, j, 0), (1, tn, d), padding_mode=ZERO).reshape((tn, d)).astype(tw.float32)
        acc = acc * shrink + tw.sum(weight * value, axis=0, keepdims=True)
        total, top = total * shrink + tw.sum(weight, keepdims=True), higher
    tw.store(out, (s, 0), (acc / total).astype(out.dtype))


def attention(q: np.ndarray, keys: np.ndarray, values: np.ndarray, lengths: np.ndarray, scale: float) -> np.ndarray:
    """The result of `attend` in float64."""
    out = np.zeros(q.shape)
    for s, n in enumerate(lengths):
        weight = np.exp(keys[s, :n].astype(np.float64) @ q[s].astype(np.float64) * scale)
        out[s] = weight @ values[s, :n].astype(np.float64) / weight.sum()
    return out


def intensity(what: str, operations: int, *arrays: np.ndarray) -> None:
    print(f"{what}: {operations / sum(a.nbytes for a in arrays):.3g} operations per byte")


def main() -> None:
    rng = np.random.default_rng(57)
    k, n, d, most = 256, 192, 64, 100
    scale = 1 / math.sqrt(d)
    w = (rng.standard_normal((k, n)) / math.sqrt(k)).astype(np.float16)
    for sequences, tm in (1, 16), (64, 64):
        x = rng.standard_normal((sequences, k)).astype(np.float16)
        q, keys, values = (rng.standard_normal(shape).astype(np.float16) for shape in (
            (sequences, d), (sequences, most, d), (sequences, most, d)))
        lengths = np.full(sequences, most, np.int32)
        lengths[1:] -= rng.integers(0, most, sequences - 1).astype(np.int32)
        want = x.astype(np.float64) @ w.astype(np.float64), attention(q, keys, values, lengths, scale)
        intensity(f"projection of {sequences}", 2 * sequences * k * n, x, w, np.empty((sequences, n), np.float16))
        read = [a[s, :length] for a in (keys, values) for s, length in enumerate(lengths)]
        intensity(f"attention of {sequences}", 4 * d * int(lengths.sum()), q, q, *read)
        for place in places():
            dx, dw, out = place.put(x, w, np.empty((sequences, n), np.float16))
            project[(tw.cdiv(sequences, tm), tw.cdiv(n, 64))](dx, dw, out, tm, 64, 64)
            check(f"projection of {sequences}", place, place.get(out), want[0], 2.0**-10 * (np.abs(want[0]) + 1))
            *given, out = place.put(q, keys, values, lengths, np.empty_like(q))
            attend[(sequences,)](*given, out, scale, 32, d)
            check(f"attention of {sequences}", place, place.get(out), want[1], 2.0**-10 * (np.abs(want[1]) + 1))


if __name__ == "__main__":
    main()
