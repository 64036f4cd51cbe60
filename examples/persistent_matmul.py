"""A matrix product by a fixed number of blocks, as many as the GPU holds at once: each walks over many output tiles."""

import ml_dtypes
import numpy as np
from _places import check, places

import tilewright as tw


def banded(number, tiles_m, tiles_n, band):
    """Row and column of an output tile: column by column within a band of `band` rows, so that blocks share the L2."""
    first = number // (band * tiles_n) * band
    rows = min(tiles_m - first, band)
    place = number % (band * tiles_n)
    return first + place % rows, place // rows


@tw.tile_kernel
def persistent_matmul(a, b, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """a: (m, k), b: (k, n), c: (m, n). Any number of blocks does the whole product."""
    tiles_m, tiles_n = tw.cdiv(a.shape[0], tm), tw.cdiv(b.shape[1], tn)
    for number in range(tw.bid(0), tiles_m * tiles_n, tw.num_blocks(0)):
        i, j = banded(number, tiles_m, tiles_n, 4)
        acc = tw.zeros((tm, tn), tw.float32)
        for k in range(tw.cdiv(a.shape[1], tk)):
            x = tw.load(a, (i, k), (tm, tk), padding_mode=tw.PaddingMode.ZERO)
            y = tw.load(b, (k, j), (tk, tn), padding_mode=tw.PaddingMode.ZERO)
            acc = tw.mma(x, y, acc)
        tw.store(c, (i, j), acc.astype(c.dtype))


def main() -> None:
    rng = np.random.default_rng(42)
    for m, n, k, dtype, blocks in ((300, 260, 130, ml_dtypes.bfloat16, 7), (64, 64, 64, np.float16, 132)):
        a, b = rng.standard_normal((m, k)).astype(dtype), rng.standard_normal((k, n)).astype(dtype)
        want = a.astype(np.float64) @ b.astype(np.float64)
        size = np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64)
        half_ulp = float(ml_dtypes.finfo(dtype).eps) / 2
        for place in places():
            da, db, c = place.put(a, b, np.empty((m, n), dtype))
            persistent_matmul[(blocks,)](da, db, c, 64, 64, 32)
            check(f"{m} x {k} x {n} by {blocks} blocks", place, place.get(c), want,
                  bound=half_ulp * np.abs(want) * 1.01 + k * 2.0**-23 * size)


if __name__ == "__main__":
    main()
