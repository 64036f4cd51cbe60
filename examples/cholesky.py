"""Cholesky factorisation, A = L L.T, in place: each step is the factor of a tile, a column of tiles, and an update.

`factor` needs one block, so it is what limits small matrices; the update is a product by `mma`, and most of the work.
"""

import numpy as np
from _places import check, places

import tilewright as tw

TILE = 32


@tw.tile_kernel
def factor(a, step, n: tw.Constant[int]):
    """The tile (step, step) of a becomes its factor, column by column; what stands above the diagonal becomes zero."""
    t = tw.load(a, (step, step), (n, n), padding_mode=tw.PaddingMode.ZERO)
    row, column = tw.arange(n, dtype=tw.int32)[:, None], tw.arange(n, dtype=tw.int32)[None, :]
    # Behind the last row: a diagonal of ones, whose factor is itself.
    t = tw.where((row == column) & (step * n + row >= a.shape[0]), 1.0, t)
    for j in range(n):
        below = tw.sum(tw.where(column == j, t, 0.0), axis=1, keepdims=True)
        pivot = tw.sum(tw.where(row == j, below, 0.0))
        below = tw.where(row >= j, below * tw.rsqrt(pivot), 0.0)
        # To the left of column j stands what is finished.
        t = tw.where(column == j, below, t - below * tw.where(column > j, below.transpose(), 0.0))
    tw.store(a, (step, step), t)


@tw.tile_kernel
def solve(a, step, n: tw.Constant[int]):
    """The tiles below the diagonal: X with X L.T = A, column by column, where L is the tile (step, step)."""
    i = step + 1 + tw.bid(0)
    column, place = tw.arange(n, dtype=tw.int32)[None, :], tw.arange(n, dtype=tw.int32)[:, None]
    factor = tw.load(a, (step, step), (n, n), order="F", padding_mode=tw.PaddingMode.ZERO)
    t = tw.load(a, (i, step), (n, n), padding_mode=tw.PaddingMode.ZERO)
    for j in range(n):
        line = tw.sum(tw.where(place == j, factor, 0.0), axis=0, keepdims=True)
        pivot = tw.sum(tw.where(column == j, line, 0.0))
        x = tw.sum(tw.where(column == j, t, 0.0), axis=1, keepdims=True) / pivot
        t = tw.where(column == j, x, t - x * tw.where(column > j, line, 0.0))
    tw.store(a, (i, step), t)


@tw.tile_kernel
def update(a, step, n: tw.Constant[int]):
    """Tile (i, j) -= X[i] X[j].T for the tiles right of and below the new column; those above the diagonal are left."""
    i, j = step + 1 + tw.bid(0), step + 1 + tw.bid(1)
    if i < j:
        return
    left = tw.load(a, (i, step), (n, n), padding_mode=tw.PaddingMode.ZERO)
    right = tw.load(a, (step, j), (n, n), order="F", padding_mode=tw.PaddingMode.ZERO)
    old = tw.load(a, (i, j), (n, n), padding_mode=tw.PaddingMode.ZERO)
    tw.store(a, (i, j), tw.mma(-left, right, old))


def cholesky(a) -> None:
    """a, symmetric and positive definite, becomes its factor below the diagonal."""
    steps = tw.cdiv(a.shape[0], TILE)
    for step in range(steps):
        rest = steps - step - 1
        factor[(1,)](a, step, TILE)
        solve[(rest,)](a, step, TILE)
        update[(rest, rest)](a, step, TILE)


def main() -> None:
    rng = np.random.default_rng(53)
    for n in 32, 100, 150:
        half = rng.standard_normal((n, n))
        a = (half @ half.T / n + np.eye(n)).astype(np.float32)
        want = np.linalg.cholesky(a.astype(np.float64))
        for place in places():
            da = place.put(a.copy())
            cholesky(da)
            got = np.tril(place.get(da))
            check(f"Cholesky factor of {n} x {n}", place, got, want, bound=1e-4)
            check(f"the product of the factors of {n} x {n}", place, got.astype(np.float64) @ got.T, a, bound=1e-5)


if __name__ == "__main__":
    main()
