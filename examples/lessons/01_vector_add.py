"""Lesson 1, vector add and broadcasting: docs/lessons/01-vector-add.md reads it cell by cell."""

# %% Add
import numpy as np

import tilewright as tw


@tw.tile_kernel
def add(x, y, out, tile: tw.Constant[int]):
    i = tw.bid(0)
    a = tw.load(x, i, tile)
    b = tw.load(y, i, tile)
    tw.store(out, i, a + b)


rng = np.random.default_rng(0)
x, y = rng.standard_normal((2, 1000), dtype=np.float32)
out = np.zeros_like(x)
add[(tw.cdiv(1000, 256),)](x, y, out, 256)
print(np.array_equal(out, x + y))               # True


# %% Padding
@tw.tile_kernel
def padded(x):
    print(tw.load(x, tw.bid(0), 4, padding_mode=tw.PaddingMode.ZERO))
    # [1, 2, 3, 4]
    # [5, 6, 0, 0]


padded[(2,)](np.arange(1, 7, dtype=np.int32))

# %% A tile that is too long is cheap
out = np.zeros_like(x)
add[(1,)](x, y, out, 1024)
print(np.array_equal(out, x + y))               # True


# %% Two dimensions
@tw.tile_kernel
def add_matrices(x, y, out, rows: tw.Constant[int], columns: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    a = tw.load(x, (i, j), (rows, columns))
    b = tw.load(y, (i, j), (rows, columns))
    tw.store(out, (i, j), a + b)


x, y = rng.standard_normal((2, 100, 70), dtype=np.float32)
out = np.zeros_like(x)
add_matrices[(tw.cdiv(100, 16), tw.cdiv(70, 32))](x, y, out, 16, 32)
print(np.array_equal(out, x + y))               # True


# %% Broadcasting in a tile
@tw.tile_kernel
def table():
    row = tw.arange(4, dtype=tw.int32)          # shape (4,)
    column = tw.arange(2, dtype=tw.int32)       # shape (2,)
    both = column[:, None] * 10 + row           # shapes (2, 1) and (4,) give (2, 4)
    print(both)                                 # [[0, 1, 2, 3], [10, 11, 12, 13]]


table[(1,)]()


# %% A bias for each column
@tw.tile_kernel
def add_bias(x, bias, out, rows: tw.Constant[int], columns: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    t = tw.load(x, (i, j), (rows, columns))
    b = tw.load(bias, j, columns)               # one tile of the vector for a column of tiles
    tw.store(out, (i, j), t + b)


bias = rng.standard_normal(70, dtype=np.float32)
out = np.zeros_like(x)
add_bias[(tw.cdiv(100, 16), tw.cdiv(70, 32))](x, bias, out, 16, 32)
print(np.array_equal(out, x + bias))            # True


# %% Dtypes
@tw.tile_kernel
def mixed(x, out, tile: tw.Constant[int]):
    t = tw.load(x, tw.bid(0), tile)             # float16
    u = t.astype(tw.float32) / 3                # computed in float32
    tw.store(out, tw.bid(0), u.astype(out.dtype))


half = np.arange(6).astype(np.float16)
out = np.zeros_like(half)
mixed[(2,)](half, out, 4)
print(out)                                      # [0.     0.3333 0.6665 1.     1.333  1.667 ]


# %% Solution 1
@tw.tile_kernel
def axpy(alpha, x, y, tile: tw.Constant[int]):
    i = tw.bid(0)
    tw.store(y, i, alpha * tw.load(x, i, tile) + tw.load(y, i, tile))


x, y = np.arange(100, dtype=np.float32), np.ones(100, np.float32)
axpy[(tw.cdiv(100, 32),)](0.5, x, y, 32)
print(y[:4], y[-1])                             # [1.  1.5 2.  2.5] 50.5


# %% Solution 2
@tw.tile_kernel
def outer(x, y, out, rows: tw.Constant[int], columns: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    tw.store(out, (i, j), tw.load(x, i, rows)[:, None] * tw.load(y, j, columns))


x, y = np.arange(50, dtype=np.float32), np.arange(30, dtype=np.float32)
out = np.zeros((50, 30), np.float32)
outer[(tw.cdiv(50, 16), tw.cdiv(30, 16))](x, y, out, 16, 16)
print(np.array_equal(out, np.outer(x, y)))      # True


# %% Solution 3
@tw.tile_kernel
def centre(x, mean, out, rows: tw.Constant[int], columns: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    m = tw.load(mean, i, rows)                  # a value for each row
    tw.store(out, (i, j), tw.load(x, (i, j), (rows, columns)) - m[:, None])


x = rng.standard_normal((40, 60), dtype=np.float32)
mean = x.mean(axis=1)
out = np.zeros_like(x)
centre[(tw.cdiv(40, 16), tw.cdiv(60, 16))](x, mean, out, 16, 16)
print(np.array_equal(out, x - mean[:, None]))   # True
