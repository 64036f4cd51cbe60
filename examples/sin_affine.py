"""y = sin(a * x + b) with broadcasting: one a per column, one b per row, and arrays of any strides."""

import numpy as np
from _places import check, places

import tilewright as tw

TM, TN = 32, 64


@tw.tile_kernel
def sin_affine(x, a, b, y, tm: tw.Constant[int], tn: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    tx = tw.load(x, (i, j), (tm, tn))
    ta = tw.load(a, (j,), (tn,))  # broadcast over the rows
    tb = tw.load(b, (i, 0), (tm, 1))  # broadcast over the columns
    tw.store(y, (i, j), tw.sin(ta * tx + tb))


def main() -> None:
    rng = np.random.default_rng(1)
    m, n = 517, 771
    a = rng.standard_normal(n, dtype=np.float32)
    b = rng.standard_normal((m, 1), dtype=np.float32)
    big = rng.standard_normal((2 * n, 3 * m), dtype=np.float32)
    layouts = {
        "contiguous": lambda z: np.ascontiguousarray(z[:n, :m].T),
        "transposed": lambda z: z[:n, :m].T,
        "every other row, every third column": lambda z: z[::2, ::3].T,
    }
    for name, view in layouts.items():
        x = view(big)
        want = np.sin(a.astype(np.float64) * x + b)
        for place in places():
            # `put` keeps the strides, so the kernel sees the view itself.
            dx, da, db, dy = place.put(x, a, b, np.zeros((m, n), np.float32))
            sin_affine[(tw.cdiv(m, TM), tw.cdiv(n, TN))](dx, da, db, dy, TM, TN)
            check(f"sin(a*x+b), {name}", place, place.get(dy), want, bound=1e-6)


if __name__ == "__main__":
    main()
