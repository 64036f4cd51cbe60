"""Random numbers by Philox 4x32-10 in unsigned integers."""

import numpy as np

import tilewright as ct

M0, M1, W0, W1 = 0xD2511F53, 0xCD9E8D57, 0x9E3779B9, 0xBB67AE85


def mulhilo(a, m):
    wide = a.astype(ct.uint64) * ct.uint64(m)
    return (wide >> 32).astype(ct.uint32), wide.astype(ct.uint32)


@ct.tile_kernel
def philox(out, key, N: ct.Constant[int]):
    i = ct.bid(0)
    c0 = (i * N + ct.arange(N, dtype=ct.int32)).astype(ct.uint32)
    c1 = c2 = c3 = ct.zeros((N,), ct.uint32)
    k0, k1 = ct.uint32(key), ct.uint32(0)
    for r in range(10):
        h0, l0 = mulhilo(c0, M0)
        h1, l1 = mulhilo(c2, M1)
        c0, c1, c2, c3 = h1 ^ c1 ^ k0, l1, h0 ^ c3 ^ k1, l0
        k0, k1 = k0 + ct.uint32(W0), k1 + ct.uint32(W1)
    four = ct.cat((ct.cat((c0[:, None], c1[:, None]), 1), ct.cat((c2[:, None], c3[:, None]), 1)), 1)
    ct.store(out, (i, 0), (four >> 8).astype(ct.float32) * 2.0**-24)


out = np.zeros((100, 4), np.float32)
philox[(ct.cdiv(100, 32),)](out, 1234, 32)


def ref(c, k):
    c = [c, 0, 0, 0]
    k = [k, 0]
    for _ in range(10):
        p0, p1 = c[0] * M0, c[2] * M1
        c = [(p1 >> 32) ^ c[1] ^ k[0], p1 & 0xFFFFFFFF, (p0 >> 32) ^ c[3] ^ k[1], p0 & 0xFFFFFFFF]
        k = [(k[0] + W0) & 0xFFFFFFFF, (k[1] + W1) & 0xFFFFFFFF]
    return [(v >> 8) * 2.0**-24 for v in c]


assert (out == np.array([ref(i, 1234) for i in range(100)], np.float32)).all()
