"""Mean and variance of each array of a list: a reduction of three tiles by a user's function."""

from dataclasses import dataclass

import numpy as np

import tilewright as ct


@dataclass(frozen=True)
class Moments:
    n: ct.Tile
    mean: ct.Tile
    m2: ct.Tile

    def merge(self, other):
        n = self.n + other.n
        safe = ct.maximum(n, 1.0)
        d = other.mean - self.mean
        return Moments(n, self.mean + d * other.n / safe, self.m2 + other.m2 + d * d * self.n * other.n / safe)


def combine(n, mean, m2, n_, mean_, m2_):
    m = Moments(n, mean, m2).merge(Moments(n_, mean_, m2_))
    return m.n, m.mean, m.m2


@ct.tile_kernel
def moments(arrays, out, TILE: ct.Constant[int]):
    a = arrays[ct.bid(0)]
    total = Moments(ct.float32(0), ct.float32(0), ct.float32(0))
    for i in range(ct.num_tiles(a, 0, TILE)):
        t = ct.load(a, i, TILE, padding_mode=ct.PaddingMode.ZERO)
        here = (i * TILE + ct.arange(TILE, dtype=ct.int32) < a.shape[0]).astype(ct.float32)
        n, mean, m2 = ct.reduce((here, t * here, ct.zeros((TILE,), ct.float32)), 0, combine, (0.0, 0.0, 0.0))
        total = total.merge(Moments(n, mean, m2))
    ct.store(out, (ct.bid(0), 0), ct.astile(((total.mean, total.m2 / total.n),), dtype=ct.float32))


rng = np.random.default_rng(5)
xs = [rng.standard_normal(n).astype(np.float32) + 3 for n in (5, 100, 257)]
out = np.zeros((3, 2), np.float32)
moments[(3,)](xs, out, 32)
assert np.allclose(out, [[x.mean(), x.var()] for x in xs], atol=1e-4), out
