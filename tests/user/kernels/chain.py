"""A running sum over blocks: each waits for the one before."""

import numpy as np

import tilewright as ct

ORDER = ct.MemoryOrder
DEVICE = ct.MemoryScope.DEVICE


@ct.tile_kernel
def running_sum(x, out, ticket, carries, flags, N: ct.Constant[int]):
    i = ct.atomic_add(ticket, 0, 1)  # blocks in the order in which they start
    t = ct.cumsum(ct.load(x, i, N, padding_mode=ct.PaddingMode.ZERO))
    before = ct.zeros((), ct.float32)
    if i > 0:
        while ct.load(flags, i - 1, (), memory_order=ORDER.ACQUIRE, memory_scope=DEVICE) == 0:
            pass
        before = ct.load(carries, i - 1, ())
    t = t + before
    ct.store(out, i, t)
    ct.store(carries, i, t.extract(N - 1, 1).item())
    ct.store(flags, i, 1, memory_order=ORDER.RELEASE, memory_scope=DEVICE)


x = np.arange(100, dtype=np.float32)
out = np.zeros_like(x)
n = ct.cdiv(100, 16)
running_sum[(n,)](x, out, np.zeros(1, np.int32), np.zeros(n, np.float32), np.zeros(n, np.int32), 16)
assert (out == x.cumsum()).all()
