"""AXPY (y += alpha x), GEMV (y = A x) and GEMM (C = A B): the three levels of BLAS.

Each prints its arithmetic intensity, the floating-point operations per byte that must move. A GPU does tens of them in
the time of one byte, so the first two levels wait for memory, and the third, whose intensity grows with its size, does
not.
"""

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


@tw.tile_kernel
def gemm(a, b, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.num_tiles(a, 1, (tm, tk))):
        ta = tw.load(a, (i, k), (tm, tk), padding_mode=tw.PaddingMode.ZERO)
        tb = tw.load(b, (k, j), (tk, tn), padding_mode=tw.PaddingMode.ZERO)
        acc = tw.mma(ta, tb, acc)
    tw.store(c, (i, j), acc)


def intensity(what: str, operations: float, elements: float) -> None:
    """Print operations per byte for float32 elements, each of which is read or written once."""
    print(f"{what}: {operations / (4 * elements):.3g} operations per byte")


def main() -> None:
    rng = np.random.default_rng(3)
    n = 100_001
    x, y = rng.standard_normal(n, dtype=np.float32), rng.standard_normal(n, dtype=np.float32)
    intensity("axpy", 2 * n, 3 * n)
    want = (np.float64(np.float32(1.5)) * x + y).astype(np.float32)
    for place in places():
        dx, dy = place.put(x, y.copy())
        axpy[(tw.cdiv(n, 512),)](1.5, dx, dy, 512)
        check("axpy", place, place.get(dy), want)

    m, k = 777, 1111
    a, v = rng.standard_normal((m, k), dtype=np.float32), rng.standard_normal(k, dtype=np.float32)
    intensity("gemv", 2 * m * k, m * k + m + k)
    exact = a.astype(np.float64) @ v
    bound = k * np.finfo(np.float32).eps * (np.abs(a).astype(np.float64) @ np.abs(v))
    for place in places():
        da, dv, out = place.put(a, v, np.empty(m, np.float32))
        gemv[(tw.cdiv(m, 8),)](da, dv, out, 8, 128)
        check("gemv", place, place.get(out), exact, bound)

    m, n, k = 300, 333, 257
    a, b = rng.standard_normal((m, k), dtype=np.float32), rng.standard_normal((k, n), dtype=np.float32)
    intensity("gemm", 2 * m * n * k, m * k + k * n + m * n)
    exact = a.astype(np.float64) @ b
    bound = k * np.finfo(np.float32).eps * (np.abs(a).astype(np.float64) @ np.abs(b))
    for place in places():
        da, db, dc = place.put(a, b, np.empty((m, n), np.float32))
        gemm[(tw.cdiv(m, 64), tw.cdiv(n, 64))](da, db, dc, 64, 64, 16)
        check("gemm", place, place.get(dc), exact, bound)


if __name__ == "__main__":
    main()
