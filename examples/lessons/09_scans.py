"""Lesson 9, scans and look-back: docs/lessons/09-scans.md reads it cell by cell."""

# %% Scan a tile
import numpy as np

import tilewright as tw

ACQUIRE, RELEASE, RELAXED = tw.MemoryOrder.ACQUIRE, tw.MemoryOrder.RELEASE, tw.MemoryOrder.RELAXED
ZERO = tw.PaddingMode.ZERO


def then(a, b, c, d):
    return a * c, b * c + d


@tw.tile_kernel
def look():
    t = tw.arange(4, dtype=tw.int32, start=1)
    print(tw.cumsum(t))                                 # [1, 3, 6, 10]
    print(tw.cumsum(t) - t)                             # [0, 1, 3, 6]
    print(tw.scan(t % 3, 0, max, 0))                    # [1, 2, 2, 2]
    print(tw.scan((t * 0 + 2, t), 0, then, (1, 0))[1])  # [1, 4, 11, 26]


look[(1,)]()


# %% Three launches
@tw.tile_kernel
def chunk_sums(x, sums, chunk: tw.Constant[int]):
    i = tw.bid(0)
    tw.store(sums, i, tw.sum(tw.load(x, i, chunk, padding_mode=ZERO)))


@tw.tile_kernel
def scan_sums(sums, count: tw.Constant[int]):
    t = tw.load(sums, 0, count, padding_mode=ZERO)
    tw.store(sums, 0, tw.cumsum(t) - t)                 # what stands before each chunk


@tw.tile_kernel
def scan_chunks(x, before, out, chunk: tw.Constant[int]):
    i = tw.bid(0)
    t = tw.load(x, i, chunk, padding_mode=ZERO)
    tw.store(out, i, tw.load(before, i, ()) + tw.cumsum(t))


rng = np.random.default_rng(0)
n, chunk = 10_000, 512
x = rng.integers(-1000, 1000, n).astype(np.int32)
blocks = tw.cdiv(n, chunk)
sums, out = np.zeros(blocks, np.int32), np.zeros_like(x)
chunk_sums[(blocks,)](x, sums, chunk)
scan_sums[(1,)](sums, 32)
scan_chunks[(blocks,)](x, sums, out, chunk)
print(np.array_equal(out, np.cumsum(x)))                # True


# %% Bytes
def bytes_moved(kernel, grid, *args):
    """The bytes that all blocks of a launch load and store."""
    rows = tw.trace(kernel, grid, *args).rows
    return sum(np.asarray(row.value).nbytes for row in rows if row.op in ("load", "store"))


y = x[:8192]
sums, out = np.zeros(16, np.int32), np.zeros_like(y)
launches = [(chunk_sums, (16,), (y, sums, 512)), (scan_sums, (1,), (sums, 16)),
            (scan_chunks, (16,), (y, sums, out, 512))]
moved = sum(bytes_moved(kernel, grid, *args) for kernel, grid, args in launches)
print(round(moved / y.nbytes, 2))                       # 3.01


# %% Wait for the neighbour
@tw.tile_kernel
def chained_scan(x, out, ticket, ready, prefix, chunk: tw.Constant[int]):
    i = tw.atomic_add(ticket, 0, 1, memory_order=RELAXED)           # the order in which blocks really start
    t = tw.load(x, i, chunk, padding_mode=ZERO)
    before = 0
    if i > 0:
        while tw.load(ready, i - 1, (), memory_order=ACQUIRE, memory_scope=tw.MemoryScope.DEVICE) == 0:
            pass
        before = tw.load(prefix, i - 1, ())
    tw.store(prefix, i, before + tw.sum(t))
    tw.store(ready, i, 1, memory_order=RELEASE, memory_scope=tw.MemoryScope.DEVICE)
    tw.store(out, i, before + tw.cumsum(t))


ready, prefix = np.zeros(blocks, np.int32), np.zeros(blocks, np.int32)
out = np.zeros_like(x)
chained_scan[(blocks,)](x, out, np.zeros(1, np.int32), ready, prefix, chunk)
print(np.array_equal(out, np.cumsum(x)))                # True

# %% Checked
ready, prefix, out = np.zeros(blocks, np.int32), np.zeros(blocks, np.int32), np.zeros_like(x)
reports = chained_scan.interpret((blocks,), x, out, np.zeros(1, np.int32), ready, prefix, chunk, check=True)
print(reports, np.array_equal(out, np.cumsum(x)))       # [] True


# %% Look back
@tw.tile_kernel
def look_back_scan(x, out, ticket, state, part, prefix, chunk: tw.Constant[int]):
    """state of a chunk: 0 nothing is known, 1 its own sum is in `part`, 2 the sum up to its end is in `prefix`."""
    i = tw.atomic_add(ticket, 0, 1, memory_order=RELAXED)
    t = tw.load(x, i, chunk, padding_mode=ZERO)
    own = tw.sum(t)
    tw.store(part, i, own)
    tw.store(state, i, 1, memory_order=RELEASE, memory_scope=tw.MemoryScope.DEVICE)
    before = 0
    j = i - 1
    while j >= 0:
        found = tw.load(state, j, (), memory_order=ACQUIRE, memory_scope=tw.MemoryScope.DEVICE)
        if found == 2:
            before += tw.load(prefix, j, ())
            j = -1                                      # everything before j is in it
        elif found == 1:
            before += tw.load(part, j, ())
            j -= 1
    tw.store(prefix, i, before + own)
    tw.store(state, i, 2, memory_order=RELEASE, memory_scope=tw.MemoryScope.DEVICE)
    tw.store(out, i, before + tw.cumsum(t))


state, part, prefix = np.zeros((3, blocks), np.int32)
out = np.zeros_like(x)
look_back_scan[(blocks,)](x, out, np.zeros(1, np.int32), state, part, prefix, chunk)
print(np.array_equal(out, np.cumsum(x)))                # True


# %% Solution 1
@tw.tile_kernel
def keep_positive(x, out, count, before, chunk: tw.Constant[int]):
    i = tw.bid(0)
    t = tw.load(x, i, chunk, padding_mode=ZERO)
    keep = t > 0
    place = tw.load(before, i, ()) + tw.cumsum(keep.astype(tw.int32)) - 1
    tw.scatter(out, place, t, mask=keep)
    if i == tw.num_blocks(0) - 1:
        tw.store(count, 0, tw.max(place) + 1)


@tw.tile_kernel
def count_positive(x, sums, chunk: tw.Constant[int]):
    i = tw.bid(0)
    t = tw.load(x, i, chunk, padding_mode=ZERO)
    tw.store(sums, i, tw.sum((t > 0).astype(tw.int32)))


sums, out, count = np.zeros(blocks, np.int32), np.zeros_like(x), np.zeros(1, np.int32)
count_positive[(blocks,)](x, sums, chunk)
scan_sums[(1,)](sums, 32)
keep_positive[(blocks,)](x, out, count, sums, chunk)
print(np.array_equal(out[:count[0]], x[x > 0]))         # True


# %% Solution 2
@tw.tile_kernel
def recurrence(a, b, out, n: tw.Constant[int]):
    """out[t] = a[t] * out[t - 1] + b[t], for each row."""
    i = tw.bid(0)
    pair = tw.load(a, (i, 0), (1, n), padding_mode=ZERO), tw.load(b, (i, 0), (1, n), padding_mode=ZERO)
    tw.store(out, (i, 0), tw.scan(pair, 1, then, (1.0, 0.0))[1])


a, b = rng.uniform(0, 1, (2, 4, 100)).astype(np.float32)
out = np.zeros_like(a)
recurrence[(4,)](a, b, out, 128)
want, h = np.zeros_like(a), np.zeros(4, np.float32)
for step in range(100):
    h = a[:, step] * h + b[:, step]
    want[:, step] = h
print(np.allclose(out, want, atol=1e-5))                # True
