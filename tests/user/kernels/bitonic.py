"""Sort of rows with positions: a bitonic network by reshape and extract."""

import numpy as np

import tilewright as ct


def compare_exchange(keys, values, j, descending):
    n = keys.shape[0]
    k = keys.reshape((n // (2 * j), 2, j))
    v = values.reshape((n // (2 * j), 2, j))
    parts = (n // (2 * j), 1, j)
    a, b = k.extract((0, 0, 0), parts), k.extract((0, 1, 0), parts)
    va, vb = v.extract((0, 0, 0), parts), v.extract((0, 1, 0), parts)
    d = descending.reshape((n // (2 * j), 2, j)).extract((0, 0, 0), parts)
    swap = (a > b) ^ d
    k = ct.cat((ct.where(swap, b, a), ct.where(swap, a, b)), 1).reshape((n,))
    v = ct.cat((ct.where(swap, vb, va), ct.where(swap, va, vb)), 1).reshape((n,))
    return k, v


@ct.tile_kernel
def argsort(x, out, order, N: ct.Constant[int]):
    row = ct.bid(0)
    keys = ct.load(x, (row, 0), (1, N), padding_mode=ct.PaddingMode.POS_INF).reshape((N,))
    values = ct.arange(N, dtype=ct.int32)
    for size in ct.static_iter([2**s for s in range(1, N.bit_length())]):
        descending = (ct.arange(N, dtype=ct.int32) & size) != 0
        for j in ct.static_iter([size >> s for s in range(1, size.bit_length())]):
            keys, values = compare_exchange(keys, values, j, descending)
    ct.store(out, (row, 0), keys[None, :])
    ct.store(order, (row, 0), values[None, :])


x = np.random.default_rng(4).standard_normal((3, 50)).astype(np.float32)
out = np.zeros_like(x)
order = np.zeros(x.shape, np.int32)
argsort[(3,)](x, out, order, 64)
assert (out == np.sort(x, 1)).all() and (order == np.argsort(x, 1)).all()
