"""Matrix product. Blocks walk over the output in groups of rows, so that neighbours in time share tiles in the L2."""

import ml_dtypes
import numpy as np
from _places import check, places

import tilewright as tw


def swizzled(blocks_m, blocks_n, group):
    """The output tile of this block: column by column within a band of `group` rows of tiles."""
    per_band = group * blocks_n
    first = tw.bid(0) // per_band * group
    rows = min(blocks_m - first, group)
    place = tw.bid(0) % per_band
    return first + place % rows, place // rows


@tw.tile_kernel
def matmul(a, b, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    i, j = swizzled(tw.cdiv(a.shape[0], tm), tw.cdiv(b.shape[1], tn), 4)
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.num_tiles(a, axis=1, shape=(tm, tk))):
        x = tw.load(a, (i, k), (tm, tk), padding_mode=tw.PaddingMode.ZERO)
        y = tw.load(b, (k, j), (tk, tn), padding_mode=tw.PaddingMode.ZERO)
        acc = tw.mma(x, y, acc)
    tw.store(c, (i, j), acc.astype(c.dtype))


def main() -> None:
    rng = np.random.default_rng(26)
    for m, n, k, dtype in ((256, 192, 128, np.float16), (300, 130, 70, ml_dtypes.bfloat16), (130, 65, 33, np.float32)):
        a, b = rng.standard_normal((m, k)).astype(dtype), rng.standard_normal((k, n)).astype(dtype)
        want = a.astype(np.float64) @ b.astype(np.float64)
        scale = np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64)
        half_ulp = float(ml_dtypes.finfo(dtype).eps) / 2
        for place in places():
            da, db, c = place.put(a, b, np.empty((m, n), dtype))
            matmul[(tw.cdiv(m, 64) * tw.cdiv(n, 64),)](da, db, c, 64, 64, 32)
            check(f"matmul of {m} x {k} x {n} {a.dtype}", place, place.get(c), want,
                  bound=half_ulp * np.abs(want) * 1.01 + k * 2.0**-23 * scale)


if __name__ == "__main__":
    main()
