"""Depthwise convolution on shifted slices of an array."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def depthwise(x, taps, out, C: ct.Constant[int], T: ct.Constant[int], K: ct.Constant[int]):
    c, t = ct.bid(0), ct.bid(1)
    acc = ct.zeros((C, T), ct.float32)
    weights = ct.load(taps, (c, 0), (C, K), padding_mode=ct.PaddingMode.ZERO)
    for k in ct.static_iter(range(taps_count)):
        shifted = x.slice(1, k, x.shape[1])
        acc += ct.load(shifted, (c, t), (C, T), padding_mode=ct.PaddingMode.ZERO) * weights.extract((0, k), (C, 1))
    ct.store(out, (c, t), acc)


taps_count = 5
rng = np.random.default_rng(3)
x = rng.standard_normal((10, 100)).astype(np.float32)
w = rng.standard_normal((10, 5)).astype(np.float32)
out = np.zeros((10, 96), np.float32)
depthwise[(ct.cdiv(10, 4), ct.cdiv(96, 32))](x, w, out, 4, 32, 8)
want = sum(x[:, k : k + 96] * w[:, k : k + 1] for k in range(5))
assert np.allclose(out, want, atol=1e-4)
