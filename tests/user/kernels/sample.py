"""Sampling from softmax by a running sum."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def sample(logits, uniform, out, V: ct.Constant[int], temperature):
    row = ct.bid(0)
    t = ct.load(logits, (row, 0), (1, V), padding_mode=ct.PaddingMode.NEG_INF).reshape((V,)) / temperature
    p = ct.exp(t - ct.max(t))
    c = ct.cumsum(p)
    total = ct.max(c)
    below = c <= ct.load(uniform, row, ()) * total
    ct.store(out, row, ct.minimum(ct.sum(below), logits.shape[1] - 1))


rng = np.random.default_rng(5)
logits = rng.standard_normal((6, 50)).astype(np.float32)
u = rng.random(6).astype(np.float32)
out = np.zeros(6, np.int32)
sample[(6,)](logits, u, out, 64, 0.7)
z = logits.astype(np.float64) / 0.7
p = np.exp(z - z.max(1, keepdims=True))
c = p.cumsum(1)
assert (out == (c <= u[:, None] * c[:, -1:]).sum(1)).all()
