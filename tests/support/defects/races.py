"""Kernels with a race each. The line of an access that meets another one says so."""

from __future__ import annotations

import numpy as np

import tilewright as tw

I32 = tw.int32
ZERO = tw.PaddingMode.ZERO


def floats(*shape):
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def ints(*shape):
    return np.zeros(shape, np.int32)


def split_k(a, b, c):
    i, k = tw.bid(0), tw.bid(1)
    part = tw.mma(tw.load(a, (i, k), (16, 16)), tw.load(b, (k, 0), (16, 16)), tw.zeros((16, 16), tw.float32))
    c_ = tw.load(c, (i, 0), (16, 16))  # <- race
    tw.store(c, (i, 0), c_ + part)  # <- race


def histogram(x, counts):
    i = tw.load(x, tw.bid(0), 16)
    n = tw.gather(counts, i)  # <- race
    tw.scatter(counts, i, n + 1)  # <- race


def total(x, out):
    s = tw.sum(tw.load(x, tw.bid(0), 16))
    tw.store(out, 0, tw.load(out, 0, ()) + s)  # <- race


def same_tile(x, out):
    i = tw.bid(0)
    tw.store(out, i // 2, tw.load(x, i, 16))  # <- race


def uniform_place(x, out):
    tw.store(out, 0, tw.load(x, tw.bid(0), 16))  # <- race


def overlapping_tiles(x, out):
    i = tw.bid(0)
    view = out.tiled_view(16, traversal_steps=8)
    view.store(i, tw.load(x, i, 16))  # <- race


def stencil_in_place(x):
    i = tw.bid(0)
    left = tw.gather(x, i * 16 + tw.arange(16, dtype=I32) - 1)
    tw.store(x, i, (left + tw.load(x, i, 16)) * 0.5)  # <- race


def neighbour(x, out):
    i = tw.bid(0)
    tw.store(out, i, tw.load(x, i, 16))
    after = tw.load(out, (i + 1) % tw.num_blocks(0), 16)  # <- race
    tw.store(x, i, after)


def in_place_shifted(x, y):
    i = tw.bid(0)
    tw.store(y, i, tw.load(x, i, 16) + 1.0)  # <- race


def atomic_and_plain(x, out):
    tw.atomic_add(out, 0, tw.sum(tw.load(x, tw.bid(0), 16)))
    if tw.bid(0) == 3:
        tw.store(out, 0, 0.0)  # <- race


def atomic_read_plainly(x, out, result):
    tw.atomic_add(out, 0, tw.sum(tw.load(x, tw.bid(0), 16)))  # <- race
    tw.store(result, tw.bid(0), tw.load(out, 0, ()))  # <- race


def scatter_collides(rows, x, out):
    i = tw.load(rows, tw.bid(0), 16)
    tw.scatter(out, i, tw.load(x, tw.bid(0), 16))  # <- race


def last_block_relaxed(x, parts, count, out):
    i, n = tw.bid(0), tw.num_blocks(0)
    tw.store(parts, i, tw.sum(tw.load(x, i, 16)))
    before = tw.atomic_add(count, 0, 1, memory_order=tw.MemoryOrder.RELAXED)
    if before == n - 1:
        tw.store(out, 0, tw.sum(tw.load(parts, 0, 4)))  # <- race


def last_block_no_release(x, parts, count, out):
    i, n = tw.bid(0), tw.num_blocks(0)
    tw.store(parts, i, tw.sum(tw.load(x, i, 16)))
    before = tw.atomic_add(count, 0, 1, memory_order=tw.MemoryOrder.ACQUIRE)
    if before == n - 1:
        tw.store(out, 0, tw.sum(tw.load(parts, 0, 4)))  # <- race


def last_block_late_store(x, parts, count, out):
    i, n = tw.bid(0), tw.num_blocks(0)
    s = tw.sum(tw.load(x, i, 16))
    before = tw.atomic_add(count, 0, 1)
    tw.store(parts, i, s)
    if before == n - 1:
        tw.store(out, 0, tw.sum(tw.load(parts, 0, 4)))  # <- race


def last_block_of_block_scope(x, parts, count, out):
    i, n = tw.bid(0), tw.num_blocks(0)
    tw.store(parts, i, tw.sum(tw.load(x, i, 16)))
    before = tw.atomic_add(count, 0, 1, memory_scope=tw.MemoryScope.BLOCK)  # <- race
    if before == n - 1:
        tw.store(out, 0, tw.sum(tw.load(parts, 0, 4)))  # <- race


def lock_freed_too_early(x, lock, out):
    while tw.atomic_cas(lock, 0, 0, 1, memory_order=tw.MemoryOrder.ACQUIRE) == 1:
        pass
    s = tw.load(out, 0, 16)  # <- race
    tw.atomic_xchg(lock, 0, 0, memory_order=tw.MemoryOrder.RELEASE)
    tw.store(out, 0, s + tw.load(x, tw.bid(0), 16))  # <- race


def lock_never_taken(x, lock, out):
    tw.atomic_cas(lock, 0, 1, 0, memory_order=tw.MemoryOrder.ACQUIRE)
    s = tw.load(out, 0, 16)  # <- race
    tw.store(out, 0, s + tw.load(x, tw.bid(0), 16))  # <- race


def locks_of_two(x, locks, out):
    i = tw.bid(0)
    while tw.atomic_cas(locks, i % 2, 0, 1, memory_order=tw.MemoryOrder.ACQUIRE) == 1:
        pass
    s = tw.load(out, 0, 16)  # <- race
    tw.store(out, 0, s + tw.load(x, i, 16))  # <- race
    tw.atomic_xchg(locks, i % 2, 0, memory_order=tw.MemoryOrder.RELEASE)


def flag_not_released(x, flags, out):
    i = tw.bid(0)
    if i > 0:
        while tw.load(flags, i - 1, (), memory_order=tw.MemoryOrder.ACQUIRE, memory_scope=tw.MemoryScope.DEVICE) == 0:
            pass
        before = tw.load(out, i - 1, 16)  # <- race
        tw.store(out, i, before + tw.load(x, i, 16))
    else:
        tw.store(out, 0, tw.load(x, 0, 16))
    tw.store(flags, i, 1, memory_order=tw.MemoryOrder.RELAXED, memory_scope=tw.MemoryScope.DEVICE)


def helper_adds(x, out):
    def add(place, value):
        tw.store(out, place, tw.load(out, place, 16) + value)  # <- race

    add(0, tw.load(x, tw.bid(0), 16))


def of_lists(xs, out):
    i = tw.bid(0)
    tw.store(xs[i % 2], 0, tw.load(xs[(i + 1) % 2], 0, 16) * 2.0)  # <- race
    tw.store(out, i, 1.0)


def grid_has_a_second_axis(x, out):
    i = tw.bid(0)
    tw.store(out, i, tw.load(x, i, 16))  # <- race


def several_values(keys, out):
    tw.scatter(out, tw.load(keys, 0, 16), tw.arange(16, dtype=tw.int32))  # <- race


def several_values_of_some_block(keys, out):
    i = tw.bid(0)
    rows = tw.full((16,), i, tw.int32)
    tw.scatter(out, (rows, tw.load(keys, i, 16)), tw.arange(16, dtype=tw.int32))  # <- race


CASES = [
    (split_k, (2, 3), lambda: (floats(32, 48), floats(48, 16), np.zeros((32, 16), np.float32))),
    (histogram, 4, lambda: ((np.arange(64) % 7).astype(np.int32), ints(8))),
    (total, 4, lambda: (floats(64), np.zeros(1, np.float32))),
    (same_tile, 4, lambda: (floats(64), np.zeros(32, np.float32))),
    (uniform_place, 4, lambda: (floats(64), np.zeros(16, np.float32))),
    (overlapping_tiles, 4, lambda: (floats(64), np.zeros(40, np.float32))),
    (stencil_in_place, 4, lambda: (floats(64),)),
    (neighbour, 4, lambda: (floats(64), floats(64))),
    (in_place_shifted, 4, lambda: (lambda a: (a[:64], a[1:65]))(floats(100))),
    (atomic_and_plain, 4, lambda: (floats(64), np.zeros(1, np.float32))),
    (atomic_read_plainly, 4, lambda: (floats(64), np.zeros(1, np.float32), np.zeros(4, np.float32))),
    (scatter_collides, 2, lambda: (np.arange(32, dtype=np.int32)[::-1] % 20, floats(32), np.zeros(32, np.float32))),
    (last_block_relaxed, 4, lambda: (floats(64), np.zeros(4, np.float32), ints(1), np.zeros(1, np.float32))),
    (last_block_no_release, 4, lambda: (floats(64), np.zeros(4, np.float32), ints(1), np.zeros(1, np.float32))),
    (last_block_late_store, 4, lambda: (floats(64), np.zeros(4, np.float32), ints(1), np.zeros(1, np.float32))),
    (last_block_of_block_scope, 4, lambda: (floats(64), np.zeros(4, np.float32), ints(1), np.zeros(1, np.float32))),
    (lock_freed_too_early, 3, lambda: (floats(48), ints(1), np.zeros(16, np.float32))),
    (lock_never_taken, 3, lambda: (floats(48), ints(1), np.zeros(16, np.float32))),
    (locks_of_two, 4, lambda: (floats(64), ints(2), np.zeros(16, np.float32))),
    (flag_not_released, 4, lambda: (floats(64), ints(4), np.zeros(64, np.float32))),
    (helper_adds, 3, lambda: (floats(48), np.zeros(16, np.float32))),
    (of_lists, 2, lambda: ([floats(16), floats(16)], np.zeros(2, np.float32))),
    (grid_has_a_second_axis, (2, 2), lambda: (floats(32), np.zeros(32, np.float32))),
    (several_values, 1, lambda: (ints(16) + np.arange(16, dtype=np.int32) % 7, ints(8))),
    (several_values_of_some_block, 3, lambda: (
        np.where(np.arange(48) == 37, 4, np.arange(48) % 16).astype(np.int32), np.zeros((3, 16), np.int32))),
]


def same_value_often(keys, out):
    tw.scatter(out, tw.load(keys, 0, 16), 1)


def others_masked(keys, out):
    i = tw.arange(16, dtype=tw.int32)
    tw.scatter(out, tw.load(keys, 0, 16), i, mask=i < 7)


def outside_often(keys, out):
    i = tw.arange(16, dtype=tw.int32)
    tw.scatter(out, tw.where(i < 7, 6 - i, 99), i)


def each_at_its_own(keys, out):
    i = tw.bid(0)
    rows = tw.full((16,), i, tw.int32)
    tw.scatter(out, (rows, 15 - tw.arange(16, dtype=tw.int32)), i * 16 + tw.arange(16, dtype=tw.int32))


CLEAN = [
    (same_value_often, 1, lambda: (ints(16) + np.arange(16, dtype=np.int32) % 7, ints(8))),
    (others_masked, 1, lambda: (ints(16) + np.arange(16, dtype=np.int32) % 7, ints(8))),
    (outside_often, 1, lambda: (ints(16), ints(8))),
    (each_at_its_own, 3, lambda: (ints(16), np.zeros((3, 16), np.int32))),
]
"""Right kernels, and some whose several values are equal."""
