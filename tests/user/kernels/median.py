"""3x3 median filter by a sorting network on nine shifted tiles."""

import numpy as np

import tilewright as ct

NETWORK = (
    (1, 2), (4, 5), (7, 8), (0, 1), (3, 4), (6, 7), (1, 2), (4, 5), (7, 8), (0, 3), (5, 8), (4, 7), (3, 6), (1, 4),
    (2, 5), (4, 7), (4, 2), (6, 4), (4, 2),
)


def swapped(values, i, j):
    low, high = min(values[i], values[j]), max(values[i], values[j])
    return tuple(low if k == i else high if k == j else values[k] for k in ct.static_iter(range(9)))


@ct.tile_kernel
def median(x, out, T: ct.Constant[int]):
    y, c = ct.bid(0), ct.bid(1)
    h, w = x.shape
    values = ()
    for dy in ct.static_iter(range(3)):
        for dx in ct.static_iter(range(3)):
            part = x.slice(0, dy, h).slice(1, dx, w)
            values = values + (ct.load(part, (y, c), (T, T)),)
    for i, j in ct.static_iter(NETWORK):
        values = swapped(values, i, j)
    ct.store(out, (y, c), values[4])


x = np.random.default_rng(10).random((30, 45), dtype=np.float32)
out = np.zeros((28, 43), np.float32)
median[(2, 3)](x, out, 16)
want = np.median(np.stack([x[a : a + 28, b : b + 43] for a in range(3) for b in range(3)]), axis=0)
assert (out == want).all()
