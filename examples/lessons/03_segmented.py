"""Lesson 3, the segmented reduction, small and ragged: docs/lessons/03-segmented.md reads it cell by cell."""

# %% The problem
import itertools

import numpy as np

import tilewright as tw

values = np.arange(1, 13, dtype=np.int32)
offsets = np.array([0, 4, 8, 12], np.int32)             # segment s holds values[offsets[s]:offsets[s + 1]]


def segments_numpy(values, offsets):
    return np.array([values[a:b].sum() for a, b in itertools.pairwise(offsets)], values.dtype)


print(segments_numpy(values, offsets))                  # [10 26 42]


# %% Equal segments
@tw.tile_kernel
def equal_segments(x, out, length: tw.Constant[int]):
    s = tw.bid(0)
    tw.store(out, s, tw.sum(tw.load(x, s, length)))


out = np.zeros(3, np.int32)
equal_segments[(3,)](values, out, 4)
print(out)                                              # [10 26 42]


# %% Gather
@tw.tile_kernel
def look(x):
    at = 3 + tw.arange(8, dtype=tw.int32)
    print(tw.gather(x, at))                             # [4, 5, 6, 7, 8, 9, 10, 11]
    print(tw.gather(x, at, mask=at < 7))                # [4, 5, 6, 7, 0, 0, 0, 0]
    print(tw.gather(x, at + 5, padding_value=-1))       # [9, 10, 11, 12, -1, -1, -1, -1]


look[(1,)](values)


# %% Ragged segments
@tw.tile_kernel
def segmented_sum(x, offsets, out, tile: tw.Constant[int]):
    s = tw.bid(0)
    start, stop = tw.gather(offsets, s), tw.gather(offsets, s + 1)
    acc = tw.zeros((tile,), x.dtype)
    for k in range(start, stop, tile):                  # bounds that are known at run time only
        at = k + tw.arange(tile, dtype=tw.int32)
        acc += tw.gather(x, at, mask=at < stop)
    tw.scatter(out, s, tw.sum(acc))


segmented_sum[(3,)](values, offsets, out, 4)
print(out)                                              # [10 26 42]

# %% Many of them
rng = np.random.default_rng(0)
lengths = rng.integers(0, 300, 500)                     # some are empty
ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
data = rng.integers(-100, 100, ends[-1]).astype(np.int32)
out = np.zeros(500, np.int32)
segmented_sum[(500,)](data, ends, out, 128)
print(np.array_equal(out, segments_numpy(data, ends)))  # True

# %% Wasted lanes
for tile in (16, 32, 64, 128, 256, 512):
    used = lengths.sum() / (np.ceil(lengths / tile) * tile).sum()
    print(tile, round(float(used), 2))
    # 16 0.95
    # 32 0.91
    # 64 0.82
    # 128 0.69
    # 256 0.52
    # 512 0.31


# %% Small segments
@tw.tile_kernel
def small_segments(x, offsets, out, rows: tw.Constant[int], most: tw.Constant[int]):
    s = tw.bid(0) * rows + tw.arange(rows, dtype=tw.int32)
    start, stop = tw.gather(offsets, s), tw.gather(offsets, s + 1)
    at = start[:, None] + tw.arange(most, dtype=tw.int32)           # a row for each segment: (rows, most)
    t = tw.gather(x, at, mask=at < stop[:, None])
    tw.scatter(out, s, tw.sum(t, axis=1))                           # rows past the last segment are skipped


lengths = rng.integers(0, 9, 1000)
ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
data = rng.integers(-100, 100, ends[-1]).astype(np.int32)
out = np.zeros(1000, np.int32)
small_segments[(tw.cdiv(1000, 64),)](data, ends, out, 64, 8)
print(np.array_equal(out, segments_numpy(data, ends)))  # True


# %% A broken promise
@tw.tile_kernel
def trusting(x, offsets, out, tile: tw.Constant[int]):
    s = tw.bid(0)
    start, stop = tw.gather(offsets, s), tw.gather(offsets, s + 1)
    at = start + tw.arange(tile, dtype=tw.int32)
    t = tw.gather(x, at, mask=at < stop, check_bounds=False)        # "I know that all of these are inside"
    tw.scatter(out, s, tw.sum(t))


wrong = np.array([0, 4, 8, 13], np.int32)               # there are only 12 values
try:
    trusting.interpret((3,), values, wrong, np.zeros(3, np.int32), 8, check=True)
except tw.CheckError as error:
    print(error.reports[0].message)                     # gather accesses x[12], outside of its shape


# %% Solution 1
@tw.tile_kernel
def segmented_max(x, offsets, out, tile: tw.Constant[int]):
    s = tw.bid(0)
    start, stop = tw.gather(offsets, s), tw.gather(offsets, s + 1)
    acc = tw.full((tile,), -np.inf, tw.float32)
    for k in range(start, stop, tile):
        at = k + tw.arange(tile, dtype=tw.int32)
        acc = tw.maximum(acc, tw.gather(x, at, mask=at < stop, padding_value=-np.inf))
    tw.scatter(out, s, tw.max(acc))


reals = rng.standard_normal(12, dtype=np.float32)
out = np.zeros(3, np.float32)
segmented_max[(3,)](reals, offsets, out, 4)
print(np.array_equal(out, reals.reshape(3, 4).max(axis=1)))         # True


# %% Solution 2
@tw.tile_kernel
def csr_times_vector(values, columns, offsets, x, y, tile: tw.Constant[int]):
    row = tw.bid(0)
    start, stop = tw.gather(offsets, row), tw.gather(offsets, row + 1)
    acc = tw.zeros((tile,), tw.float32)
    for k in range(start, stop, tile):
        at = k + tw.arange(tile, dtype=tw.int32)
        column = tw.gather(columns, at, mask=at < stop)
        acc += tw.gather(values, at, mask=at < stop) * tw.gather(x, column)
    tw.scatter(y, row, tw.sum(acc))


dense = np.where(rng.random((20, 30)) < 0.2, rng.standard_normal((20, 30)), 0).astype(np.float32)
rows, columns = np.nonzero(dense)
starts = np.searchsorted(rows, np.arange(21)).astype(np.int32)
x, y = rng.standard_normal(30, dtype=np.float32), np.zeros(20, np.float32)
csr_times_vector[(20,)](dense[rows, columns], columns.astype(np.int32), starts, x, y, 8)
print(np.allclose(y, dense @ x, atol=1e-5))             # True
