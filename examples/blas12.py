"""AXPY (y += alpha x) and GEMV (y = A x): BLAS levels 1 and 2."""

import numpy as np
from _places import check, places

import tilewright as tw


@tw.tile_kernel
def axpy(alpha: float, x, y, tile: tw.Constant[int]):
    i = tw.bid(0)
    tw.store(y, (i,), alpha * tw.load(x, (i,), (tile,)) + tw.load(y, (i,), (tile,)))


@tw.tile_kernel
def gemv(a, x, y, tm: tw.Constant[int], tk: tw.Constant[int]):
    i = tw.bid(0)
    acc = tw.zeros((tm, tk), tw.float32)
    for k in range(tw.num_tiles(a, 1, (tm, tk))):
        rows = tw.load(a, (i, k), (tm, tk), padding_mode=tw.PaddingMode.ZERO)
        part = tw.load(x, (k,), (tk,), padding_mode=tw.PaddingMode.ZERO)
        acc += rows * part
    tw.store(y, (i,), tw.sum(acc, axis=1))


def main() -> None:
    rng = np.random.default_rng(3)
    n = 100_001
    x, y = rng.standard_normal(n, dtype=np.float32), rng.standard_normal(n, dtype=np.float32)
    want = (np.float64(np.float32(1.5)) * x + y).astype(np.float32)
    for place in places():
        dx, dy = place.put(x, y.copy())
        axpy[(tw.cdiv(n, 512),)](1.5, dx, dy, 512)
        check("axpy", place, place.get(dy), want)

    m, k = 777, 1111
    a, v = rng.standard_normal((m, k), dtype=np.float32), rng.standard_normal(k, dtype=np.float32)
    exact = a.astype(np.float64) @ v
    bound = k * np.finfo(np.float32).eps * (np.abs(a).astype(np.float64) @ np.abs(v))
    for place in places():
        da, dv, out = place.put(a, v, np.empty(m, np.float32))
        gemv[(tw.cdiv(m, 8),)](da, dv, out, 8, 128)
        check("gemv", place, place.get(out), exact, bound)


if __name__ == "__main__":
    main()
