"""A product by `mma` alone: matrices that fit a tile need neither a loop nor zeros to add to. A block does one product.

The accumulator is an operand like the others: here it is loaded, so the kernel computes d = a @ b + c.
"""

import numpy as np
from _places import check, places

import tilewright as tw


@tw.tile_kernel
def one_mma(a, b, c, d, m: tw.Constant[int], n: tw.Constant[int], k: tw.Constant[int]):
    """d[i] = a[i] @ b[i] + c[i]. a: (batch, m, k), b: (batch, k, n), c, d: (batch, m, n)."""
    i = tw.bid(0)
    x = tw.load(a, (i, 0, 0), (1, m, k))
    y = tw.load(b, (i, 0, 0), (1, k, n))
    tw.store(d, (i, 0, 0), tw.mma(x, y, tw.load(c, (i, 0, 0), (1, m, n))))


def main() -> None:
    rng = np.random.default_rng(52)
    batch = 20
    for (m, n, k), dtype, total in (((16, 8, 16), np.float16, np.float32), ((64, 64, 32), np.float16, np.float32),
                                    ((16, 16, 32), np.int8, np.int32)):
        a, b = (rng.integers(-9, 9, (batch, *shape)).astype(dtype) for shape in ((m, k), (k, n)))
        c = rng.integers(-9, 9, (batch, m, n)).astype(total)
        want = a.astype(np.int64) @ b.astype(np.int64) + c  # small integers: every format adds them exactly
        for place in places():
            da, db, dc, dd = place.put(a, b, c, np.empty_like(c))
            one_mma[(batch,)](da, db, dc, dd, m, n, k)
            check(f"{batch} products {m} x {n} x {k} of {a.dtype}", place, place.get(dd), want)


if __name__ == "__main__":
    main()
