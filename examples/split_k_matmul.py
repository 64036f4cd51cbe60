"""A product with a long inner dimension and a small result: blocks share one output tile, then their sums are added."""

import numpy as np
from _places import check, places

import tilewright as tw


@tw.tile_kernel
def partial_products(a, b, parts, tile: tw.Constant[int], tk: tw.Constant[int]):
    """parts: (splits, m, n) in float32. Split s takes the tiles s, s + splits, ... of the inner dimension."""
    i, j, split = tw.bid(0), tw.bid(1), tw.bid(2)
    acc = tw.zeros((tile, tile), tw.float32)
    for k in range(split, tw.cdiv(a.shape[1], tk), tw.num_blocks(2)):
        x = tw.load(a, (i, k), (tile, tk), padding_mode=tw.PaddingMode.ZERO)
        y = tw.load(b, (k, j), (tk, tile), padding_mode=tw.PaddingMode.ZERO)
        acc = tw.mma(x, y, acc)
    tw.store(parts, (split, i, j), acc[None])


@tw.tile_kernel
def add_parts(parts, c, tile: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((1, tile, tile), tw.float32)
    for split in range(parts.shape[0]):
        acc += tw.load(parts, (split, i, j), (1, tile, tile))
    tw.store(c, (i, j), acc.reshape((tile, tile)).astype(c.dtype))


def main() -> None:
    rng = np.random.default_rng(27)
    m, n, k, splits, tile = 48, 40, 2000, 6, 32
    a, b = rng.standard_normal((m, k)).astype(np.float16), rng.standard_normal((k, n)).astype(np.float16)
    want = a.astype(np.float64) @ b.astype(np.float64)
    bound = 2.0**-11 * np.abs(want) + k * 2.0**-23 * (np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64))
    grid = tw.cdiv(m, tile), tw.cdiv(n, tile)
    for place in places():
        da, db, parts, c = place.put(a, b, np.empty((splits, m, n), np.float32), np.empty((m, n), np.float16))
        partial_products[(*grid, splits)](da, db, parts, tile, 64)
        add_parts[grid](parts, c, tile)
        check(f"split-K matmul of {m} x {k} x {n}", place, place.get(c), want, bound)


if __name__ == "__main__":
    main()
