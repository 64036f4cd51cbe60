"""Exponential moving average: a scan over pairs, with a carry from tile to tile."""

import numpy as np

import tilewright as ct


def then(a, b, c, d):
    return a * c, b * c + d


@ct.tile_kernel
def ema(x, decay, out, C: ct.Constant[int], T: ct.Constant[int]):
    c = ct.bid(0)
    state = ct.zeros((C, 1), ct.float32)
    d = ct.load(decay, c, C)[:, None]
    for t in range(ct.num_tiles(x, 1, (C, T))):
        v = ct.load(x, (c, t), (C, T), padding_mode=ct.PaddingMode.ZERO)
        a, b = ct.scan((ct.broadcast_to(d, (C, T)), v * (1.0 - d)), 1, then, (1.0, 0.0))
        y = a * state + b
        ct.store(out, (c, t), y)
        state = y.extract((0, T - 1), (C, 1))


rng = np.random.default_rng(8)
x = rng.standard_normal((6, 50)).astype(np.float32)
d = rng.random(6).astype(np.float32)
out = np.zeros_like(x)
ema[(2,)](x, d, out, 4, 16)
s = np.zeros(6)
want = np.zeros((6, 50))
for t in range(50):
    s = d * s + (1 - d) * x[:, t]
    want[:, t] = s
assert np.allclose(out, want, atol=1e-5)
