"""The segmented sum as a matrix-vector product: row s of the matrix is 1 inside segment s, and 0 elsewhere.

The matrix never exists in memory: a block makes the part that its segments need, and multiplies by `mma`. That pays
where segments are short: `segmented_sum`, with a block for each, would leave most of its lanes without work.
"""

import itertools

import numpy as np
from _places import check, places

import tilewright as tw


@tw.tile_kernel
def segmented_mask(x, offsets, out, segments: tw.Constant[int], tile: tw.Constant[int]):
    """out[s] = sum(x[offsets[s]:offsets[s + 1]]); each block has `segments` of them, which stand side by side in x."""
    count = out.shape[0]
    s = tw.bid(0) * segments + tw.arange(segments, dtype=tw.int32)
    # Behind the last segment: empty ones at its end.
    start = tw.gather(offsets, tw.minimum(s, count))[:, None]
    stop = tw.gather(offsets, tw.minimum(s + 1, count))[:, None]
    acc = tw.zeros((segments, 1), tw.float32)
    for k in range(tw.min(start) // tile, tw.cdiv(tw.max(stop), tile)):
        at = k * tile + tw.arange(tile, dtype=tw.int32)[None, :]
        mask = ((at >= start) & (at < stop)).astype(x.dtype)
        part = tw.load(x, k, tile, padding_mode=tw.PaddingMode.ZERO)
        acc = tw.mma(mask, part[:, None], acc)
    tw.store(out, tw.bid(0), acc.reshape((segments,)))


def main() -> None:
    rng = np.random.default_rng(54)
    for count, longest in (3, 5), (500, 12), (100, 300):
        lengths = rng.integers(0, longest, count)
        ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        values = rng.standard_normal(int(ends[-1]), dtype=np.float32)
        exact = np.array([values[a:b].astype(np.float64).sum() for a, b in itertools.pairwise(ends)])
        size = np.array([np.abs(values[a:b]).astype(np.float64).sum() for a, b in itertools.pairwise(ends)])
        for place in places():
            x, offsets, out = place.put(values, ends, np.empty(count, np.float32))
            segmented_mask[(tw.cdiv(count, 16),)](x, offsets, out, 16, 128)
            check(f"{count} segments of less than {longest}", place, place.get(out), exact,
                  bound=longest * np.finfo(np.float32).eps * size)


if __name__ == "__main__":
    main()
