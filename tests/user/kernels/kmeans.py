"""One step of k-means: distances by broadcasting, sums and counts by atomics."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def assign(points, centres, labels, sums, counts, N: ct.Constant[int], K: ct.Constant[int], D: ct.Constant[int]):
    i = ct.bid(0)
    p = ct.load(points, (i, 0), (N, D), padding_mode=ct.PaddingMode.ZERO)
    c = ct.load(centres, (0, 0), (K, D), padding_mode=ct.PaddingMode.ZERO)
    d = p[:, None, :] - c[None, :, :]
    dist = ct.sum(d * d, axis=2)
    real = ct.arange(K, dtype=ct.int32) < centres.shape[0]
    dist = ct.where(real, dist, np.inf)
    best = ct.argmin(dist, axis=1)
    ct.store(labels, i, best)
    row = i * N + ct.arange(N, dtype=ct.int32)
    inside = row < points.shape[0]
    where_to = ct.where(inside, best, -1)
    ct.atomic_add(counts, where_to, 1)
    ct.atomic_add(sums, (where_to[:, None], ct.arange(D, dtype=ct.int32)), p)


rng = np.random.default_rng(1)
pts = rng.standard_normal((100, 3)).astype(np.float32)
cen = pts[:5].copy()
labels = np.zeros(100, np.int32)
sums = np.zeros((5, 3), np.float32)
counts = np.zeros(5, np.int32)
assign[(ct.cdiv(100, 32),)](pts, cen, labels, sums, counts, 32, 8, 4)
want = ((pts[:, None] - cen[None]) ** 2).sum(2).argmin(1)
assert (labels == want).all()
assert (counts == np.bincount(want, minlength=5)).all()
assert np.allclose(sums, np.stack([pts[want == k].sum(0) for k in range(5)]), atol=1e-4)
