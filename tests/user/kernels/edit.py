"""Edit distance, one pair a block, by anti-diagonals."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def edit(a, b, out, W: ct.Constant[int]):
    p = ct.bid(0)
    n, m = a.shape[1], b.shape[1]
    i = ct.arange(W, dtype=ct.int32)  # row of the table: 0..n
    before, last = ct.full((W,), 1 << 20, ct.int32), ct.full((W,), 1 << 20, ct.int32)
    last = ct.where(i == 0, 0, last)
    for d in range(1, n + m + 1):
        j = d - i
        # up: (i - 1, j) lies in `last` at i - 1, left: (i, j - 1) in `last` at i, diagonal in `before` at i - 1
        shift = i[:, None] == i[None, :] + 1
        up = ct.min(ct.where(shift, last[None, :], 1 << 20), axis=1)
        diagonal = ct.min(ct.where(shift, before[None, :], 1 << 20), axis=1)
        ca = ct.gather(a, (p, i - 1), padding_value=-1)
        cb = ct.gather(b, (p, j - 1), padding_value=-2)
        best = ct.minimum(ct.minimum(up, last) + 1, diagonal + (ca != cb))
        best = ct.where((j == 0) | (i == 0), d, best)
        best = ct.where((i <= n) & (j >= 0) & (j <= m), best, 1 << 20)
        before, last = last, best
    ct.store(out, p, ct.min(ct.where(i == n, last, 1 << 20)))


def reference(s, t):
    row = list(range(len(t) + 1))
    for i, x in enumerate(s, 1):
        prev, row[0] = row[0], i
        for j, y in enumerate(t, 1):
            prev, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, prev + (x != y))
    return row[-1]


rng = np.random.default_rng(1)
a, b = rng.integers(0, 3, (4, 11), dtype=np.int32), rng.integers(0, 3, (4, 9), dtype=np.int32)
out = np.zeros(4, np.int32)
edit[(4,)](a, b, out, 16)
assert out.tolist() == [reference(s, t) for s, t in zip(a, b)], out
