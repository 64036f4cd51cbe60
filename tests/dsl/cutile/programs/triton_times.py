"""A kernel checked and then timed by Triton's clock."""

import cuda.tile as ct
import cupy as cp
import triton


@ct.kernel
def double(x, out, tile: ct.Constant[int]):
    ct.store(out, (ct.bid(0),), 2 * ct.load(x, (ct.bid(0),), (tile,)))


x = cp.arange(100, dtype=cp.float32)
out = cp.zeros_like(x)
runs = [0]


def launch():
    runs[0] += 1
    ct.launch(cp.cuda.get_current_stream(), (ct.cdiv(x.size, 32),), double, (x, out, 32))


mean = triton.testing.do_bench(launch, warmup=25, rep=100)
low, middle, high = triton.testing.do_bench(launch, quantiles=[0.2, 0.5, 0.8])
every = triton.testing.do_bench_cudagraph(launch, return_mode="all")
assert mean > 0 and low <= middle <= high and len(every) == 10 and runs[0] == 33
assert triton.testing.do_bench(launch, quantiles=[0.5]) > 0
print("double", bool((out == 2 * x).all()))
