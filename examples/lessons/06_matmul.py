"""Lesson 6, a matrix product from naive to persistent: docs/lessons/06-matmul.md reads it cell by cell."""

# %% Inputs
import numpy as np

import tilewright as tw

ZERO = tw.PaddingMode.ZERO

rng = np.random.default_rng(0)
a = rng.standard_normal((256, 128)).astype(np.float16)
b = rng.standard_normal((128, 256)).astype(np.float16)
want = a.astype(np.float64) @ b.astype(np.float64)


def right(c):
    """Whether c is the product, to what float16 can hold."""
    return np.allclose(c, want, rtol=2e-3, atol=2e-2)


def bytes_moved(kernel, grid, *args):
    """The bytes that all blocks of a launch load and store."""
    rows = tw.trace(kernel, grid, *args).rows
    return sum(row.value.nbytes for row in rows if row.op in ("load", "store"))


# %% Naive
@tw.tile_kernel
def naive(a, b, c, k: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    row = tw.load(a, (i, 0), (1, k), padding_mode=ZERO).astype(tw.float32)
    column = tw.load(b, (0, j), (k, 1), padding_mode=ZERO).astype(tw.float32)
    tw.store(c, (i, j), tw.sum(row.reshape((k,)) * column.reshape((k,))).astype(c.dtype))


c = np.zeros((256, 256), np.float16)
naive[(256, 256)](a, b, c, 128)
print(right(c))                                         # True
print(bytes_moved(naive, (16, 16), a, b, c, 128) / (16 * 16))   # 514.0


# %% A tile of the result
@tw.tile_kernel
def tiled(a, b, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.num_tiles(a, axis=1, shape=(tm, tk))):
        x = tw.load(a, (i, k), (tm, tk), padding_mode=ZERO).astype(tw.float32)
        y = tw.load(b, (k, j), (tk, tn), padding_mode=ZERO).astype(tw.float32)
        acc += tw.sum(x[:, :, None] * y[None, :, :], axis=1)
    tw.store(c, (i, j), acc.astype(c.dtype))


c = np.zeros((256, 256), np.float16)
tiled[(8, 8)](a, b, c, 32, 32, 8)
print(right(c))                                         # True
print(bytes_moved(tiled, (8, 8), a, b, c, 32, 32, 8) / (256 * 256))     # 18.0


# %% mma
@tw.tile_kernel
def plain(a, b, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.num_tiles(a, axis=1, shape=(tm, tk))):
        x = tw.load(a, (i, k), (tm, tk), padding_mode=ZERO)
        y = tw.load(b, (k, j), (tk, tn), padding_mode=ZERO)
        acc = tw.mma(x, y, acc)
    tw.store(c, (i, j), acc.astype(c.dtype))


c = np.zeros((256, 256), np.float16)
plain[(4, 4)](a, b, c, 64, 64, 32)
print(right(c))                                         # True

# %% Larger tiles
for tm, tn in ((32, 32), (64, 64), (128, 128), (128, 256)):
    grid = 256 // tm, 256 // tn
    print(tm, tn, bytes_moved(plain, grid, a, b, c, tm, tn, 64) / (256 * 256))
    # 32 32 18.0
    # 64 64 10.0
    # 128 128 6.0
    # 128 256 5.0


# %% Bands
def banded(number, rows, columns, band):
    """Row and column of output tile `number`: column by column within a band of `band` rows of tiles."""
    first = number // (band * columns) * band
    height = min(rows - first, band)
    place = number % (band * columns)
    return first + place % height, place // height


print([banded(n, 4, 3, 2) for n in range(12)][:6])      # [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2)]


@tw.tile_kernel
def in_bands(a, b, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int], band: tw.Constant[int]):
    i, j = banded(tw.bid(0), tw.cdiv(a.shape[0], tm), tw.cdiv(b.shape[1], tn), band)
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.num_tiles(a, axis=1, shape=(tm, tk))):
        x = tw.load(a, (i, k), (tm, tk), padding_mode=ZERO)
        y = tw.load(b, (k, j), (tk, tn), padding_mode=ZERO)
        acc = tw.mma(x, y, acc)
    tw.store(c, (i, j), acc.astype(c.dtype))


c = np.zeros((256, 256), np.float16)
in_bands[(16,)](a, b, c, 64, 64, 32, 2)
print(right(c))                                         # True


# %% Persistent
@tw.tile_kernel
def persistent(a, b, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int], band: tw.Constant[int]):
    rows, columns = tw.cdiv(a.shape[0], tm), tw.cdiv(b.shape[1], tn)
    for number in range(tw.bid(0), rows * columns, tw.num_blocks(0)):
        i, j = banded(number, rows, columns, band)
        acc = tw.zeros((tm, tn), tw.float32)
        for k in range(tw.num_tiles(a, axis=1, shape=(tm, tk))):
            x = tw.load(a, (i, k), (tm, tk), padding_mode=ZERO)
            y = tw.load(b, (k, j), (tk, tn), padding_mode=ZERO)
            acc = tw.mma(x, y, acc)
        tw.store(c, (i, j), acc.astype(c.dtype))


c = np.zeros((256, 256), np.float16)
persistent[(3,)](a, b, c, 64, 64, 32, 2)                # any number of blocks does all the work
print(right(c))                                         # True


# %% Solution 1
@tw.tile_kernel
def linear(a, b, bias, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.num_tiles(a, axis=1, shape=(tm, tk))):
        x = tw.load(a, (i, k), (tm, tk), padding_mode=ZERO)
        y = tw.load(b, (k, j), (tk, tn), padding_mode=ZERO)
        acc = tw.mma(x, y, acc)
    acc = tw.maximum(acc + tw.load(bias, j, tn), 0.0)
    tw.store(c, (i, j), acc.astype(c.dtype))


bias = rng.standard_normal(256, dtype=np.float32)
c = np.zeros((256, 256), np.float16)
linear[(4, 4)](a, b, bias, c, 64, 64, 32)
print(np.allclose(c, np.maximum(want + bias, 0), rtol=2e-3, atol=2e-2))     # True


# %% Solution 2
@tw.tile_kernel
def times_transposed(a, bt, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.num_tiles(a, axis=1, shape=(tm, tk))):
        x = tw.load(a, (i, k), (tm, tk), padding_mode=ZERO)
        y = tw.load(bt, (k, j), (tk, tn), order="F", padding_mode=ZERO)     # a tile of the transposed array
        acc = tw.mma(x, y, acc)
    tw.store(c, (i, j), acc.astype(c.dtype))


c = np.zeros((256, 256), np.float16)
times_transposed[(4, 4)](a, np.ascontiguousarray(b.T), c, 64, 64, 32)
print(right(c))                                         # True
