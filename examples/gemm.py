"""GEMM as BLAS has it: C = alpha op(A) op(B) + beta C, where op may transpose. With beta = 0, C is not read."""

import numpy as np
from _places import check, places

import tilewright as tw

ZERO = tw.PaddingMode.ZERO
TM, TN, TK = 64, 64, 32


@tw.tile_kernel
def gemm(alpha: float, a, b, beta: float, c, a_order: tw.Constant[str], b_order: tw.Constant[str],
         tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """Order "F" of an operand says that it is stored transposed: a as (k, m), b as (n, k)."""
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.cdiv(a.shape[1 if a_order == "C" else 0], tk)):
        ta = tw.load(a, (i, k), (tm, tk), order=a_order, padding_mode=ZERO)
        tb = tw.load(b, (k, j), (tk, tn), order=b_order, padding_mode=ZERO)
        acc = tw.mma(ta, tb, acc)
    acc *= alpha
    if beta != 0.0:  # decided on the GPU: c may hold anything where beta is 0, NaN too
        acc += beta * tw.load(c, (i, j), (tm, tn)).astype(tw.float32)
    tw.store(c, (i, j), acc.astype(c.dtype))


def main() -> None:
    rng = np.random.default_rng(51)
    m, n, k, alpha = 150, 200, 170, -0.5
    a, b, c = (rng.standard_normal(shape).astype(np.float16) for shape in ((m, k), (k, n), (m, n)))
    product = alpha * (a.astype(np.float64) @ b.astype(np.float64))
    size = abs(alpha) * (np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64))
    for a_order, b_order, beta in ("C", "C", 0.0), ("F", "C", 1.0), ("C", "F", 0.25), ("F", "F", -2.0):
        want = product + beta * c.astype(np.float64)
        bound = (k + 2) * np.finfo(np.float32).eps * (size + abs(beta) * np.abs(c)) + 2.0**-11 * np.abs(want)
        old = c if beta else np.full_like(c, np.nan)
        left, right = a if a_order == "C" else a.T.copy(), b if b_order == "C" else b.T.copy()
        for place in places():
            da, db, dc = place.put(left, right, old.copy())
            gemm[(tw.cdiv(m, TM), tw.cdiv(n, TN))](alpha, da, db, beta, dc, a_order, b_order, TM, TN, TK)
            what = f"{alpha} A{'.T' * (a_order == 'F')} B{'.T' * (b_order == 'F')} + {beta} C"
            check(what, place, place.get(dc), want, bound)


if __name__ == "__main__":
    main()
