"""An LSTM cell: eight products and the gates in one kernel."""

import numpy as np

import tilewright as ct


def sigmoid(t):
    return 1.0 / (1.0 + ct.exp(-t))


@ct.tile_kernel
def lstm(x, h, c, w, u, bias, h_out, c_out, B: ct.Constant[int], H: ct.Constant[int], K: ct.Constant[int]):
    row, col = ct.bid(0), ct.bid(1)
    units = h.shape[1] // H
    gates = ()
    for g in ct.static_iter(range(4)):
        acc = ct.zeros((B, H), ct.float32) + ct.load(bias, g * units + col, H)
        for k in range(ct.num_tiles(x, 1, (B, K))):
            acc = ct.mma(
                ct.load(x, (row, k), (B, K), padding_mode=ct.PaddingMode.ZERO),
                ct.load(w, (k, g * units + col), (K, H), padding_mode=ct.PaddingMode.ZERO),
                acc,
            )
        for k in range(ct.num_tiles(h, 1, (B, K))):
            acc = ct.mma(
                ct.load(h, (row, k), (B, K), padding_mode=ct.PaddingMode.ZERO),
                ct.load(u, (k, g * units + col), (K, H), padding_mode=ct.PaddingMode.ZERO),
                acc,
            )
        gates = gates + (acc,)
    i, f, g, o = gates
    new = sigmoid(f) * ct.load(c, (row, col), (B, H)) + sigmoid(i) * ct.tanh(g)
    ct.store(c_out, (row, col), new)
    ct.store(h_out, (row, col), (sigmoid(o) * ct.tanh(new)).astype(h_out.dtype))


rng = np.random.default_rng(0)
n, d, m = 20, 24, 32
x, h = rng.standard_normal((n, d)).astype(np.float32), rng.standard_normal((n, m)).astype(np.float32)
c = rng.standard_normal((n, m)).astype(np.float32)
w, u = rng.standard_normal((d, 4 * m)).astype(np.float32) / 5, rng.standard_normal((m, 4 * m)).astype(np.float32) / 5
b = rng.standard_normal(4 * m).astype(np.float32)
ho, co = np.zeros_like(h), np.zeros_like(c)
lstm[(ct.cdiv(n, 16), m // 16)](x, h, c, w, u, b, ho, co, 16, 16, 16)
z = x @ w + h @ u + b
i, f, g, o = np.split(z, 4, axis=1)
i, f, o = (1 / (1 + np.exp(-gate)) for gate in (i, f, o))
cw = f * c + i * np.tanh(g)
assert np.allclose(co, cw, atol=1e-4) and np.allclose(ho, o * np.tanh(cw), atol=1e-4)
