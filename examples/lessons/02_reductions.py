"""Lesson 2, reductions of any axis: docs/lessons/02-reductions.md reads it cell by cell."""

# %% Reduce a tile
import math

import numpy as np

import tilewright as tw

ZERO = tw.PaddingMode.ZERO


@tw.tile_kernel
def look():
    t = tw.arange(8, dtype=tw.int32).reshape((2, 4))
    print(t)                                        # [[0, 1, 2, 3], [4, 5, 6, 7]]
    print(tw.sum(t, axis=0))                        # [4, 6, 8, 10]
    print(tw.sum(t, axis=1))                        # [6, 22]
    print(tw.sum(t, axis=1, keepdims=True))         # [[6], [22]]
    print(tw.sum(t), tw.max(t))                     # 28 7
    print(tw.argmax(t, axis=1))                     # [3, 3]


look[(1,)]()


# %% Sum of rows
@tw.tile_kernel
def row_sums(x, out, rows: tw.Constant[int], columns: tw.Constant[int]):
    i = tw.bid(0)
    t = tw.load(x, (i, 0), (rows, columns), padding_mode=ZERO)
    tw.store(out, i, tw.sum(t, axis=1))


rng = np.random.default_rng(0)
x = rng.integers(-100, 100, (37, 50)).astype(np.int32)
out = np.zeros(37, np.int32)
row_sums[(tw.cdiv(37, 8),)](x, out, 8, 64)          # 64: the power of two that holds 50 columns
print(np.array_equal(out, x.sum(axis=1)))           # True


# %% The wrong padding
@tw.tile_kernel
def row_max(x, out, columns: tw.Constant[int], padding: tw.Constant[tw.PaddingMode]):
    i = tw.bid(0)
    t = tw.load(x, (i, 0), (1, columns), padding_mode=padding)
    tw.store(out, i, tw.max(t, axis=1))


negative = np.array([[-3.0, -1.0, -2.0]], np.float32)
out = np.zeros(1, np.float32)
row_max[(1,)](negative, out, 4, ZERO)
print(out)                                          # [0.]
row_max[(1,)](negative, out, 4, tw.PaddingMode.NEG_INF)
print(out)                                          # [-1.]


# %% The checker finds it
@tw.tile_kernel
def careless(x, out, columns: tw.Constant[int]):
    t = tw.load(x, (tw.bid(0), 0), (1, columns))    # nothing said of the padding
    tw.store(out, tw.bid(0), tw.max(t, axis=1))


try:
    careless.interpret((1,), negative, out, 4, check=True)
except tw.CheckError as error:
    print(error.reports[0].message)                 # store writes an undefined value to out[0]


# %% Long rows
@tw.tile_kernel
def long_row_sums(x, out, chunk: tw.Constant[int]):
    i = tw.bid(0)
    acc = tw.zeros((1, chunk), tw.float32)
    for k in range(tw.num_tiles(x, axis=1, shape=(1, chunk))):
        acc += tw.load(x, (i, k), (1, chunk), padding_mode=ZERO)
    tw.store(out, i, tw.sum(acc, axis=1))


x = rng.standard_normal((5, 10_000), dtype=np.float32)
out = np.zeros(5, np.float32)
long_row_sums[(5,)](x, out, 1024)
exact = x.astype(np.float64).sum(axis=1)
print(np.abs(out - exact).max() < 1e-3)             # True


# %% Any axis
@tw.tile_kernel
def sum_middle(x, out, middle: tw.Constant[int], inner: tw.Constant[int]):
    o, i = tw.bid(0), tw.bid(1)
    acc = tw.zeros((inner,), tw.float32)
    for k in range(tw.num_tiles(x, axis=1, shape=(1, middle, inner))):
        t = tw.load(x, (o, k, i), (1, middle, inner), padding_mode=ZERO)
        acc += tw.sum(t, axis=(0, 1))
    tw.store(out, (o, i), acc[None, :])


def sum_axis(x, axis):
    """The sum of an array over one axis; rows of memory are read as wide tiles."""
    outer, n, inner = math.prod(x.shape[:axis]), x.shape[axis], math.prod(x.shape[axis + 1:])
    view, out = x.reshape(outer, n, inner), np.zeros((outer, inner), np.float32)
    middle, wide = (1024, 1) if inner == 1 else (16, 64)
    sum_middle[(outer, tw.cdiv(inner, wide))](view, out, middle, wide)
    return out.reshape(x.shape[:axis] + x.shape[axis + 1:])


x = rng.standard_normal((7, 130, 65), dtype=np.float32)
for axis in range(3):
    print(axis, np.allclose(sum_axis(x, axis), x.sum(axis=axis, dtype=np.float64), atol=1e-3))
    # 0 True
    # 1 True
    # 2 True


# %% Solution 1
@tw.tile_kernel
def mean_and_variance(x, mean, variance, columns: tw.Constant[int]):
    i = tw.bid(0)
    n = x.shape[1]
    t = tw.load(x, (i, 0), (1, columns), padding_mode=ZERO)
    m = tw.sum(t, axis=1, keepdims=True) / n
    inside = tw.arange(columns, dtype=tw.int32)[None, :] < n
    d = tw.where(inside, t - m, 0.0)                # padding minus the mean is not zero
    tw.store(mean, i, m.reshape((1,)))
    tw.store(variance, i, tw.sum(d * d, axis=1) / n)


x = rng.standard_normal((6, 50), dtype=np.float32)
mean, variance = np.zeros(6, np.float32), np.zeros(6, np.float32)
mean_and_variance[(6,)](x, mean, variance, 64)
print(np.allclose(mean, x.mean(axis=1), atol=1e-6), np.allclose(variance, x.var(axis=1), atol=1e-6))  # True True


# %% Solution 2
@tw.tile_kernel
def maxima(x, value, place, columns: tw.Constant[int]):
    i = tw.bid(0)
    t = tw.load(x, (i, 0), (1, columns), padding_mode=tw.PaddingMode.NEG_INF)
    tw.store(value, i, tw.max(t, axis=1))
    tw.store(place, i, tw.argmax(t, axis=1))


value, place = np.zeros(6, np.float32), np.zeros(6, np.int32)
maxima[(6,)](x, value, place, 64)
print(np.array_equal(value, x.max(axis=1)), np.array_equal(place, x.argmax(axis=1)))    # True True


# %% Solution 3
@tw.tile_kernel
def norm(x, out, chunk: tw.Constant[int]):
    acc = tw.zeros((chunk,), tw.float32)
    for k in range(tw.num_tiles(x, axis=0, shape=(chunk,))):
        t = tw.load(x, k, chunk, padding_mode=ZERO)
        acc += t * t
    tw.store(out, 0, tw.sqrt(tw.sum(acc)))


x = rng.standard_normal(5000, dtype=np.float32)
out = np.zeros(1, np.float32)
norm[(1,)](x, out, 512)
print(abs(out[0] - np.linalg.norm(x)) < 1e-3)       # True
