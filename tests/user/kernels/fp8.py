"""Matrix product in float8 with a scale per row and column of each tile."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def fp8_matmul(a, b, c, T: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((T, T), ct.float32)
    for k in range(ct.num_tiles(a, 1, (T, T))):
        ta = ct.load(a, (i, k), (T, T), padding_mode=ct.PaddingMode.ZERO)
        tb = ct.load(b, (k, j), (T, T), padding_mode=ct.PaddingMode.ZERO)
        sa = ct.maximum(ct.max(ct.abs(ta), axis=1, keepdims=True), 1e-12) / 448.0
        sb = ct.maximum(ct.max(ct.abs(tb), axis=0, keepdims=True), 1e-12) / 448.0
        part = ct.mma(
            (ta / sa).astype(ct.float8_e4m3fn), (tb / sb).astype(ct.float8_e4m3fn), ct.zeros((T, T), ct.float32)
        )
        acc += part * sa * sb
    ct.store(c, (i, j), acc)


rng = np.random.default_rng(7)
a, b = rng.standard_normal((40, 70)).astype(np.float32), rng.standard_normal((70, 50)).astype(np.float32)
c = np.zeros((40, 50), np.float32)
fp8_matmul[(2, 2)](a, b, c, 32)
assert np.abs(c - a @ b).max() < 1.5
