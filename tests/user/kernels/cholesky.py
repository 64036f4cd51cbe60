"""Cholesky factors of small float64 matrices, a column at a time."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def cholesky(a, out, N: ct.Constant[int]):
    b = ct.bid(0)
    m = ct.load(a, (b, 0, 0), (1, N, N)).reshape((N, N))
    row, col = ct.arange(N, dtype=ct.int32)[:, None], ct.arange(N, dtype=ct.int32)[None, :]
    lower = ct.zeros((N, N), m.dtype)
    for k in range(N):
        column = ct.sum(ct.where(col == k, m, 0.0), axis=1, keepdims=True)  # (N, 1)
        pivot = ct.sum(ct.where(row == k, column, 0.0)).item()
        column = ct.where(row >= k, column / ct.sqrt(pivot), 0.0)
        lower = ct.where(col == k, column, lower)
        m = m - column * column.transpose()
    ct.store(out, (b, 0, 0), lower[None])


rng = np.random.default_rng(6)
x = rng.standard_normal((3, 8, 8))
a = x @ x.transpose(0, 2, 1) + 8 * np.eye(8)
out = np.zeros_like(a)
cholesky[(3,)](a, out, 8)
assert np.allclose(out, np.linalg.cholesky(a), atol=1e-10)
