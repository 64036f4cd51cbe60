"""Lesson 8, atomics, locks and memory order: docs/lessons/08-atomics.md reads it cell by cell."""

# %% A race
import numpy as np

import tilewright as tw

ACQUIRE, RELEASE, RELAXED = tw.MemoryOrder.ACQUIRE, tw.MemoryOrder.RELEASE, tw.MemoryOrder.RELAXED
ZERO = tw.PaddingMode.ZERO


@tw.tile_kernel
def racy_sum(x, out, tile: tw.Constant[int]):
    part = tw.sum(tw.load(x, tw.bid(0), tile, padding_mode=ZERO))
    tw.store(out, 0, tw.load(out, 0, ()) + part)        # read, add, write: three steps


x = np.arange(1000, dtype=np.int32)
try:
    racy_sum.interpret((8,), x, np.zeros(1, np.int32), 128, check=True)
except tw.CheckError as error:
    print(error.reports[0].kind)                        # race


# %% An atomic addition
@tw.tile_kernel
def atomic_sum(x, out, tile: tw.Constant[int]):
    part = tw.sum(tw.load(x, tw.bid(0), tile, padding_mode=ZERO))
    tw.atomic_add(out, 0, part, memory_order=RELAXED)


out = np.zeros(1, np.int32)
atomic_sum[(8,)](x, out, 128)
print(out, x.sum())                                     # [499500] 499500


# %% A histogram
@tw.tile_kernel
def histogram(x, counts, tile: tw.Constant[int]):
    at = tw.bid(0) * tile + tw.arange(tile, dtype=tw.int32)
    bucket = tw.gather(x, at, padding_value=-1)         # -1 is outside of counts: not counted
    tw.atomic_add(counts, bucket, 1, memory_order=RELAXED)


rng = np.random.default_rng(0)
data = rng.integers(0, 10, 5000).astype(np.int32)
counts = np.zeros(10, np.int32)
histogram[(tw.cdiv(5000, 512),)](data, counts, 512)
print(np.array_equal(counts, np.bincount(data)))        # True

# %% Order matters for floats
big = np.array([1e8, 1.0, -1e8], np.float32)
print(big[0] + big[1] + big[2], big[0] + big[2] + big[1])           # 0.0 1.0


# %% No atomics at all
@tw.tile_kernel
def partial_sums(x, partial, tile: tw.Constant[int]):
    i = tw.bid(0)
    tw.store(partial, i, tw.sum(tw.load(x, i, tile, padding_mode=ZERO)))


@tw.tile_kernel
def add_up(partial, out, tile: tw.Constant[int]):
    tw.store(out, 0, tw.sum(tw.load(partial, 0, tile, padding_mode=ZERO)))


partial, out = np.zeros(8, np.int32), np.zeros(1, np.int32)
partial_sums[(8,)](x, partial, 128)
add_up[(1,)](partial, out, 8)
print(out)                                              # [499500]


# %% The last block adds up
@tw.tile_kernel
def total(x, partial, finished, out, tile: tw.Constant[int], blocks: tw.Constant[int]):
    i = tw.bid(0)
    tw.store(partial, i, tw.sum(tw.load(x, i, tile, padding_mode=ZERO)))
    before = tw.atomic_add(finished, 0, 1)              # ACQ_REL: publishes my store, sees those of the others
    if before == tw.num_blocks(0) - 1:
        tw.store(out, 0, tw.sum(tw.load(partial, 0, blocks, padding_mode=ZERO)))


out = np.zeros(1, np.int32)
total[(8,)](x, np.zeros(8, np.int32), np.zeros(1, np.int32), out, 128, 8)
print(out)                                              # [499500]


# %% The order that is missing
@tw.tile_kernel
def too_relaxed(x, partial, finished, out, tile: tw.Constant[int], blocks: tw.Constant[int]):
    i = tw.bid(0)
    tw.store(partial, i, tw.sum(tw.load(x, i, tile, padding_mode=ZERO)))
    before = tw.atomic_add(finished, 0, 1, memory_order=RELAXED)
    if before == tw.num_blocks(0) - 1:
        tw.store(out, 0, tw.sum(tw.load(partial, 0, blocks, padding_mode=ZERO)))


try:
    too_relaxed.interpret((8,), x, np.zeros(8, np.int32), np.zeros(1, np.int32), out, 128, 8, check=True)
except tw.CheckError as error:
    print(error.reports[0].kind, "of", error.reports[0].array)      # race of partial


# %% A lock
@tw.tile_kernel
def add_rows(x, out, lock, rows: tw.Constant[int], columns: tw.Constant[int]):
    part = tw.sum(tw.load(x, (tw.bid(0), 0), (rows, columns), padding_mode=ZERO), axis=0)
    while tw.atomic_cas(lock, 0, 0, 1, memory_order=ACQUIRE) == 1:
        pass                                            # somebody else holds it
    tw.store(out, 0, tw.load(out, 0, columns) + part)
    tw.atomic_xchg(lock, 0, 0, memory_order=RELEASE)


m = rng.integers(0, 100, (50, 64)).astype(np.int32)
out, lock = np.zeros(64, np.int32), np.zeros(1, np.int32)
add_rows[(7,)](m, out, lock, 8, 64)
print(np.array_equal(out, m.sum(axis=0)), lock)         # True [0]


# %% Solution 1
@tw.tile_kernel
def largest(x, out, tile: tw.Constant[int]):
    t = tw.load(x, tw.bid(0), tile, padding_mode=ZERO)
    tw.atomic_max(out, 0, tw.max(t), memory_order=RELAXED)


out = np.zeros(1, np.int32)
largest[(tw.cdiv(5000, 512),)](data, out, 512)
print(out)                                              # [9]


# %% Solution 2
@tw.tile_kernel
def split_k(a, b, c, tile: tw.Constant[int], tk: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((tile, tile), tw.float32)
    for k in range(tw.bid(2), tw.cdiv(a.shape[1], tk), tw.num_blocks(2)):
        x = tw.load(a, (i, k), (tile, tk), padding_mode=ZERO)
        y = tw.load(b, (k, j), (tk, tile), padding_mode=ZERO)
        acc = tw.mma(x, y, acc)
    row = i * tile + tw.arange(tile, dtype=tw.int32)[:, None]
    column = j * tile + tw.arange(tile, dtype=tw.int32)
    tw.atomic_add(c, (row, column), acc, memory_order=RELAXED)


a, b = rng.standard_normal((2, 64, 64)).astype(np.float16)
a, b = np.tile(a, (1, 16)), np.tile(b, (16, 1))         # (64, 1024) times (1024, 64)
c = np.zeros((64, 64), np.float32)
split_k[(2, 2, 4)](a, b, c, 32, 64)
print(np.allclose(c, a.astype(np.float64) @ b.astype(np.float64), atol=1e-2))           # True
