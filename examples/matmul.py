"""C = A @ B in bfloat16, summed in float32; the edges of the matrices fit no tile."""

import ml_dtypes
import numpy as np
from _places import check, places

import tilewright as tw

TM, TN, TK = 64, 128, 32
# Blocks that run at the same time should share rows of A and columns of B in the cache.
GROUP = 8


@tw.tile_kernel
def matmul(a, b, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    rows, columns = tw.num_tiles(c, 0, (tm, tn)), tw.num_tiles(c, 1, (tm, tn))
    band = tw.bid(0) // (GROUP * columns)
    height = min(rows - band * GROUP, GROUP)
    place = tw.bid(0) % (GROUP * columns)
    i, j = band * GROUP + place % height, place // height
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.num_tiles(a, 1, (tm, tk))):
        ta = tw.load(a, (i, k), (tm, tk), padding_mode=tw.PaddingMode.ZERO)
        tb = tw.load(b, (k, j), (tk, tn), padding_mode=tw.PaddingMode.ZERO)
        acc = tw.mma(ta, tb, acc)
    tw.store(c, (i, j), acc.astype(c.dtype))


def main() -> None:
    rng = np.random.default_rng(4)
    m, n, k = 500, 520, 264
    a, b = (rng.standard_normal(s, dtype=np.float32).astype(ml_dtypes.bfloat16) for s in ((m, k), (k, n)))
    wide = [x.astype(np.float64) for x in (a, b)]
    exact, size = wide[0] @ wide[1], np.abs(wide[0]) @ np.abs(wide[1])
    # Sums of k float32 terms, then one rounding to bfloat16.
    bound = k * np.finfo(np.float32).eps * size + float(ml_dtypes.finfo(ml_dtypes.bfloat16).eps) * np.abs(exact)
    for place in places():
        da, db, dc = place.put(a, b, np.zeros((m, n), ml_dtypes.bfloat16))
        matmul[(tw.cdiv(m, TM) * tw.cdiv(n, TN),)](da, db, dc, TM, TN, TK)
        check(f"bfloat16 {m} x {n} x {k}", place, place.get(dc), exact, bound)


if __name__ == "__main__":
    main()
