"""Lesson 4, softmax and fusion: docs/lessons/04-softmax.md reads it cell by cell."""

# %% The formula
import numpy as np

import tilewright as tw

NEG_INF = tw.PaddingMode.NEG_INF


def softmax_numpy(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


rng = np.random.default_rng(0)
x = rng.standard_normal((64, 1024), dtype=np.float32)
want = softmax_numpy(x.astype(np.float64))


# %% Four kernels
@tw.tile_kernel
def row_max(x, top, n: tw.Constant[int]):
    i = tw.bid(0)
    tw.store(top, i, tw.max(tw.load(x, (i, 0), (1, n), padding_mode=NEG_INF), axis=1))


@tw.tile_kernel
def subtract_and_exp(x, top, e, n: tw.Constant[int]):
    i = tw.bid(0)
    tw.store(e, (i, 0), tw.exp(tw.load(x, (i, 0), (1, n)) - tw.load(top, i, 1)[:, None]))


@tw.tile_kernel
def row_sum(e, total, n: tw.Constant[int]):
    i = tw.bid(0)
    tw.store(total, i, tw.sum(tw.load(e, (i, 0), (1, n), padding_mode=tw.PaddingMode.ZERO), axis=1))


@tw.tile_kernel
def divide(e, total, out, n: tw.Constant[int]):
    i = tw.bid(0)
    tw.store(out, (i, 0), tw.load(e, (i, 0), (1, n)) / tw.load(total, i, 1)[:, None])


top, total = np.zeros(64, np.float32), np.zeros(64, np.float32)
e, out = np.zeros_like(x), np.zeros_like(x)
steps = [(row_max, (x, top)), (subtract_and_exp, (x, top, e)), (row_sum, (e, total)), (divide, (e, total, out))]
for kernel, arrays in steps:
    kernel[(64,)](*arrays, 1024)
print(np.abs(out - want).max() < 1e-7)                  # True


# %% Count the bytes
def bytes_moved(kernel, grid, *args):
    """The bytes that all blocks of a launch load and store."""
    rows = tw.trace(kernel, grid, *args).rows
    return sum(row.value.nbytes for row in rows if row.op in ("load", "store"))


for kernel, arrays in steps:
    print(kernel.__name__, bytes_moved(kernel, (64,), *arrays, 1024))
    # row_max 262400
    # subtract_and_exp 524544
    # row_sum 262400
    # divide 524544


# %% One kernel
@tw.tile_kernel
def softmax(x, out, n: tw.Constant[int]):
    i = tw.bid(0)
    t = tw.load(x, (i, 0), (1, n), padding_mode=NEG_INF)
    e = tw.exp(t - tw.max(t, axis=1, keepdims=True))    # the padding becomes exp(-inf) = 0
    tw.store(out, (i, 0), e / tw.sum(e, axis=1, keepdims=True))


fused = np.zeros_like(x)
softmax[(64,)](x, fused, 1024)
print(np.abs(fused - want).max() < 1e-7)                # True

# %% What it saves
apart = sum(bytes_moved(kernel, (64,), *arrays, 1024) for kernel, arrays in steps)
together = bytes_moved(softmax, (64,), x, fused, 1024)
print(apart, together, apart / together)                # 1573888 524288 3.001953125

# %% Why subtract the maximum
large = np.array([[1000.0, 1001.0]], np.float32)
with np.errstate(over="ignore", invalid="ignore"):
    print(np.exp(large) / np.exp(large).sum())          # [[nan nan]]
out = np.zeros_like(large)
softmax[(1,)](large, out, 2)
print(out)                                              # [[0.26894143 0.7310586 ]]

# %% Odd lengths
odd = rng.standard_normal((10, 1000), dtype=np.float32)
out = np.zeros_like(odd)
softmax[(10,)](odd, out, 1024)
print(np.abs(out - softmax_numpy(odd.astype(np.float64))).max() < 1e-7)     # True


# %% Rows of any length
@tw.tile_kernel
def online_softmax(x, out, chunk: tw.Constant[int]):
    i = tw.bid(0)
    chunks = tw.num_tiles(x, axis=1, shape=(1, chunk))
    top = tw.full((1, 1), -3.0e38, tw.float32)          # finite: inf - inf would be NaN
    total = tw.zeros((1, 1), tw.float32)
    for k in range(chunks):
        t = tw.load(x, (i, k), (1, chunk), padding_mode=NEG_INF)
        higher = tw.maximum(top, tw.max(t, axis=1, keepdims=True))
        total = total * tw.exp(top - higher) + tw.sum(tw.exp(t - higher), axis=1, keepdims=True)
        top = higher
    for k in range(chunks):
        t = tw.load(x, (i, k), (1, chunk))
        tw.store(out, (i, k), tw.exp(t - top) / total)


long = rng.standard_normal((4, 65536), dtype=np.float32)
out = np.zeros_like(long)
online_softmax[(4,)](long, out, 4096)
print(np.abs(out - softmax_numpy(long.astype(np.float64))).max() < 1e-8)    # True
print(bytes_moved(online_softmax, (4,), long, out, 4096) / (2 * long.nbytes))   # 1.5


# %% Solution 1
@tw.tile_kernel
def log_softmax(x, out, n: tw.Constant[int]):
    i = tw.bid(0)
    t = tw.load(x, (i, 0), (1, n), padding_mode=NEG_INF)
    t = t - tw.max(t, axis=1, keepdims=True)
    tw.store(out, (i, 0), t - tw.log(tw.sum(tw.exp(t), axis=1, keepdims=True)))


out = np.zeros_like(odd)
log_softmax[(10,)](odd, out, 1024)
print(np.abs(out - np.log(softmax_numpy(odd.astype(np.float64)))).max() < 1e-5)     # True


# %% Solution 2
@tw.tile_kernel
def layer_norm(x, weight, bias, out, n: tw.Constant[int]):
    i = tw.bid(0)
    columns = x.shape[1]
    t = tw.load(x, (i, 0), (1, n), padding_mode=tw.PaddingMode.ZERO)
    mean = tw.sum(t, axis=1, keepdims=True) / columns
    d = tw.where(tw.arange(n, dtype=tw.int32) < columns, t - mean, 0.0)
    variance = tw.sum(d * d, axis=1, keepdims=True) / columns
    scaled = d * tw.rsqrt(variance + 1e-5) * tw.load(weight, 0, n) + tw.load(bias, 0, n)
    tw.store(out, (i, 0), scaled)


weight, bias = rng.standard_normal((2, 1000), dtype=np.float32)
layer_norm[(10,)](odd, weight, bias, out, 1024)
centred = odd - odd.mean(axis=1, keepdims=True, dtype=np.float64)
normed = centred / np.sqrt((centred ** 2).mean(axis=1, keepdims=True) + 1e-5) * weight + bias
print(np.abs(out - normed).max() < 1e-5)                # True
