"""A matrix product for every member of a batch, by a batch axis of the tiles; one matrix B serves all."""

import numpy as np
from _places import check, places

import tilewright as tw

# Members of the batch that one block computes, and its tile.
TB, TM, TN, TK = 2, 32, 64, 32


@tw.tile_kernel
def batched(a, b, c, tb: tw.Constant[int], tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    n, i, j = tw.bid(2), tw.bid(0), tw.bid(1)
    acc = tw.zeros((tb, tm, tn), tw.float32)
    for k in range(tw.num_tiles(a, 2, (tb, tm, tk))):
        ta = tw.load(a, (n, i, k), (tb, tm, tk), padding_mode=tw.PaddingMode.ZERO)
        tb_ = tw.load(b, (n, k, j), (tb, tk, tn), padding_mode=tw.PaddingMode.ZERO)
        acc = tw.mma(ta, tb_, acc)
    tw.store(c, (n, i, j), acc.astype(c.dtype))


@tw.tile_kernel
def shared_right(a, b, c, tb: tw.Constant[int], tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    n, i, j = tw.bid(2), tw.bid(0), tw.bid(1)
    acc = tw.zeros((tb, tm, tn), tw.float32)
    for k in range(tw.num_tiles(a, 2, (tb, tm, tk))):
        ta = tw.load(a, (n, i, k), (tb, tm, tk), padding_mode=tw.PaddingMode.ZERO)
        tb_ = tw.load(b, (k, j), (tk, tn), padding_mode=tw.PaddingMode.ZERO)
        acc = tw.mma(ta, tb_, acc)  # the batch axes broadcast
    tw.store(c, (n, i, j), acc.astype(c.dtype))


def main() -> None:
    rng = np.random.default_rng(5)
    count, m, n, k = 5, 100, 72, 88
    a = rng.standard_normal((count, m, k), dtype=np.float32).astype(np.float16)
    many = rng.standard_normal((count, k, n), dtype=np.float32).astype(np.float16)
    grid = (tw.cdiv(m, TM), tw.cdiv(n, TN), tw.cdiv(count, TB))
    for what, kernel, b in (("batched", batched, many), ("one B for all", shared_right, many[0])):
        wide = [x.astype(np.float64) for x in (a, b)]
        exact, size = wide[0] @ wide[1], np.abs(wide[0]) @ np.abs(wide[1])
        bound = k * np.finfo(np.float32).eps * size + np.finfo(np.float16).eps * np.abs(exact)
        for place in places():
            da, db, dc = place.put(a, b, np.zeros((count, m, n), np.float16))
            kernel[grid](da, db, dc, TB, TM, TN, TK)
            check(f"{what}, {count} x {m} x {n} x {k}", place, place.get(dc), exact, bound)


if __name__ == "__main__":
    main()
