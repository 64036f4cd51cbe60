"""Sparse matrix times vector: ragged rows as slices with bounds known at run time."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def spmv(indptr, indices, values, x, y, CHUNK: ct.Constant[int]):
    row = ct.bid(0)
    start, stop = ct.load(indptr, row, ()), ct.load(indptr, row + 1, ())
    cols = indices.slice(0, start, stop)
    vals = values.slice(0, start, stop)
    acc = ct.zeros((CHUNK,), ct.float32)
    for j in range(ct.num_tiles(vals, 0, CHUNK)):
        c = ct.load(cols, j, CHUNK, padding_mode=ct.PaddingMode.ZERO)
        v = ct.load(vals, j, CHUNK, padding_mode=ct.PaddingMode.ZERO)
        acc += v * ct.gather(x, c)
    ct.store(y, row, ct.sum(acc))


rng = np.random.default_rng(2)
dense = rng.standard_normal((11, 40)).astype(np.float32) * (rng.random((11, 40)) < 0.3)
indptr = np.concatenate([[0], (dense != 0).sum(1).cumsum()]).astype(np.int32)
indices = np.nonzero(dense)[1].astype(np.int32)
values = dense[dense != 0]
x = rng.standard_normal(40).astype(np.float32)
y = np.zeros(11, np.float32)
spmv[(11,)](indptr, indices, values, x, y, 8)
assert np.allclose(y, dense @ x, atol=1e-5)
