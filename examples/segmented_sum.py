"""Segmented reduction: segment s holds the elements offsets[s] : offsets[s+1]; one block sums one segment."""

import itertools

import numpy as np
from _places import check, places

import tilewright as tw


@tw.tile_kernel
def segmented_sum(x, offsets, out, tile: tw.Constant[int]):
    s = tw.bid(0)
    start = tw.gather(offsets, s)
    stop = tw.gather(offsets, s + 1)
    acc = tw.zeros((tile,), x.dtype)
    for k in range(start, stop, tile):
        at = k + tw.arange(tile, dtype=tw.int32)
        acc += tw.gather(x, at, mask=at < stop)
    tw.scatter(out, s, tw.sum(acc))


def main() -> None:
    small = np.arange(1, 13, dtype=np.int32)
    ends = np.array([0, 4, 8, 12], np.int32)
    for place in places():
        x, offsets, out = place.put(small, ends, np.zeros(3, np.int32))
        segmented_sum[(3,)](x, offsets, out, 4)
        got = place.get(out)
        check("segments of [1..12]", place, got, np.array([10, 26, 42], np.int32))

    rng = np.random.default_rng(5)
    lengths = rng.integers(0, 3000, 2000)  # empty segments among them
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    values = rng.standard_normal(int(ends[-1]), dtype=np.float32)
    exact = np.array([values[a:b].astype(np.float64).sum() for a, b in itertools.pairwise(ends)])
    size = np.array([np.abs(values[a:b]).astype(np.float64).sum() for a, b in itertools.pairwise(ends)])
    bound = lengths * np.finfo(np.float32).eps * size
    for place in places():
        x, offsets, out = place.put(values, ends, np.zeros(len(lengths), np.float32))
        segmented_sum[(len(lengths),)](x, offsets, out, 512)
        check(f"{len(lengths)} ragged segments", place, place.get(out), exact, bound)


if __name__ == "__main__":
    main()
