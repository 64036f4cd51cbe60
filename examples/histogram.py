"""Histogram: each block counts its chunk with atomic additions, which threads may make at the same place."""

import numpy as np
from _places import check, places

import tilewright as tw


@tw.tile_kernel
def histogram(x, counts, low: float, high: float, tile: tw.Constant[int]):
    i = tw.bid(0)
    t = tw.gather(x, i * tile + tw.arange(tile, dtype=tw.int32), padding_value=low - 1)
    bins = counts.shape[0]
    # A value outside, and what lies past the end of x, has a bin outside `counts` and is not counted.
    place = tw.floor((t - low) * (bins / (high - low))).astype(tw.int32)
    tw.atomic_add(counts, place, 1)


def main() -> None:
    rng = np.random.default_rng(39)
    n, bins, low, high = 5000, 32, -2.0, 2.0
    x = rng.standard_normal(n, dtype=np.float32)
    want, _ = np.histogram(x[(x >= low) & (x < high)], bins, (low, high))
    for place in places():
        dx, counts = place.put(x, np.zeros(bins, np.int32))
        histogram[(tw.cdiv(n, 512),)](dx, counts, low, high, 512)
        check(f"histogram of {n} in {bins} bins", place, place.get(counts), want)


if __name__ == "__main__":
    main()
