"""CuPy arrays at module level, without a main guard."""

import cupy as cp
import cuda.tile as ct

N, TILE = 1000, 128


@ct.kernel
def add(a, b, c, tile: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(c, (i,), ct.load(a, (i,), (tile,)).astype(cp.float32) + ct.load(b, (i,), (tile,)))


a = cp.random.rand(N, dtype=cp.float32)
b = cp.arange(N, dtype=cp.float32)
c = cp.zeros_like(a)
ct.launch(cp.cuda.get_current_stream(), (ct.cdiv(N, TILE), 1, 1), add, (a, b, c, TILE))
cp.cuda.Stream.null.synchronize()
cp.testing.assert_allclose(c, a + b)
print("add", bool(cp.allclose(cp.asnumpy(c), (a + b).get())))
