"""Kernels with one defect each, written when the checker was done, by someone who had read it: all were found."""

from __future__ import annotations

import numpy as np

import tilewright as tw

ACQUIRE, RELEASE, RELAXED = tw.MemoryOrder.ACQUIRE, tw.MemoryOrder.RELEASE, tw.MemoryOrder.RELAXED
DEVICE, BLOCK = tw.MemoryScope.DEVICE, tw.MemoryScope.BLOCK


def numbers(*shape):
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


def zeros(*shape):
    return np.zeros(shape, np.float32)


def ints(*shape):
    return np.zeros(shape, np.int32)


def hist_no_atomic(x, out):
    b = tw.load(x, tw.bid(0), 16)
    for k in range(7):
        n = tw.sum(tw.where(b == k, 1, 0))
        tw.store(out, k, tw.load(out, k, ()) + n)  # <- race


def argmax_padding(x, out):
    t = tw.load(x, tw.bid(0), 16)
    m = tw.max(t)
    tw.atomic_max(out, 0, m)  # <- undefined


def store_swapped(x, out):  # <- unwritten
    i = tw.bid(0)
    t = tw.load(x, i, 16)
    tw.store(out, tw.num_blocks(0) - 1 - i * 2, t)  # <- bounds


def transposed_grid(x, out):
    t = tw.load(x, (tw.bid(0), tw.bid(1)), (16, 16))
    tw.store(out, (0, tw.bid(1)), t)  # <- race


def half_cover(x, out):  # <- unwritten
    i = tw.bid(0)
    if i % 2 == 0:
        tw.store(out, i, tw.load(x, i, 16))


def last_block_relaxed(x, part, count, out):
    i = tw.bid(0)
    tw.store(part, i, tw.sum(tw.load(x, i, 16)))
    if tw.atomic_add(count, 0, 1, memory_order=RELAXED) == tw.num_blocks(0) - 1:
        tw.store(out, 0, tw.sum(tw.load(part, 0, 4)))  # <- race


def last_block_scope(x, part, count, out):
    i = tw.bid(0)
    tw.store(part, i, tw.sum(tw.load(x, i, 16)))
    arrived = tw.atomic_add(count, 0, 1, memory_order=tw.MemoryOrder.ACQ_REL, memory_scope=BLOCK)  # <- race
    if arrived == tw.num_blocks(0) - 1:
        tw.store(out, 0, tw.sum(tw.load(part, 0, 4)))  # <- race


def row_sum_ragged(x, out):
    acc = tw.zeros((4,), tw.float32)
    for k in range(tw.cdiv(x.shape[1], 16)):
        acc += tw.sum(tw.load(x, (tw.bid(0), k), (4, 16)), axis=1)
    tw.store(out, tw.bid(0), acc)  # <- undefined


def gather_promise(x, at, out):
    i = tw.load(at, 0, 4)
    tw.store(out, 0, tw.gather(x, i, check_bounds=False))  # <- bounds


def load_promise(x, out):
    t = tw.load(x, tw.bid(0), 16, check_bounds=False)  # <- promise
    tw.store(out, tw.bid(0), t)


def divisible(x, n, out):
    n = tw.assume_divisible_by(n, 8)  # <- promise
    i = tw.bid(0) * 16 + tw.arange(16, dtype=tw.int32)
    tw.scatter(out, i, tw.gather(x, i), mask=i < n)


def halo_write(out, x):
    i = tw.bid(0)
    j = i * 4 + tw.arange(8, dtype=tw.int32)
    tw.scatter(out, j, tw.gather(x, j))  # <- race


def in_place_shift(x):
    i = tw.bid(0)
    j = i * 16 + tw.arange(16, dtype=tw.int32)
    t = tw.gather(x, j + 1, padding_value=0)  # <- race
    tw.scatter(x, j, t)  # <- race


def reads_before(ws, out):
    i = tw.bid(0)
    t = tw.load(ws, i, 16)
    tw.store(ws, i, t * 2)  # <- undefined
    tw.store(out, i, t)  # <- undefined


def unlock_missing(lock, out):
    while tw.atomic_cas(lock, 0, 0, 1, memory_order=ACQUIRE) == 1:  # <- progress
        pass
    tw.store(out, tw.bid(0), 1)
    if tw.bid(0) > 5:
        tw.atomic_xchg(lock, 0, 0, memory_order=RELEASE)


def unlock_relaxed(lock, out, x):
    while tw.atomic_cas(lock, 0, 0, 1, memory_order=ACQUIRE) == 1:
        pass
    tw.store(out, 0, tw.load(out, 0, ()) + tw.load(x, tw.bid(0), ()))  # <- race
    tw.atomic_xchg(lock, 0, 0, memory_order=RELAXED)


def div_by_zero(x, out):
    tw.store(out, 0, 100 // tw.load(x, 0, 4))  # <- undefined


def shifted_too_far(x, out):
    t = tw.load(x, 0, 4)
    bits = 1 << t
    safe = 1 << tw.where(t < 32, t, 0)
    tw.store(out, 0, bits)  # <- undefined
    tw.store(out, 1, safe >> 3)


def extract_outside(x, out):
    i = tw.bid(0)
    t = tw.reshape(tw.load(x, (i, 0, 0), (1, 8, 8)), (8, 8))
    s = tw.extract(t, (i + 1, 0), (4, 4))
    tw.store(out, (i, 0, 0), tw.reshape(s, (1, 4, 4)))  # <- undefined


def scatter_dup(at, x, out):
    tw.scatter(out, tw.load(at, tw.bid(0), 4), tw.load(x, tw.bid(0), 4))  # <- race


def raw_past_end(x, out):
    m = x.get_raw_memory()
    j = tw.bid(0) * 8 + tw.arange(8, dtype=tw.int32)
    tw.scatter(out, j, m.load_offset(j + 24))  # <- bounds


def sum_into_float_store(x, out):
    s = tw.sum(tw.load(x, tw.bid(0), 16))
    tw.store(out, 0, s)  # <- race


def branch_on_padding(x, out, flag):
    i = tw.bid(0)
    t = tw.load(x, i, 16)
    if tw.max(t) > 0.5:  # <- undefined
        tw.store(flag, i, 1.0)
    else:
        tw.store(flag, i, 0.0)
    tw.store(out, i, t)


def neg_tile(x, out):
    i = tw.bid(0)
    t = tw.load(x, i - 1, 16, padding_mode=tw.PaddingMode.ZERO)  # <- bounds
    tw.store(out, i, t)


def flag_plain(flag, x, out):
    i = tw.bid(0)
    if i > 0:
        while tw.load(flag, i - 1, (), memory_order=RELAXED, memory_scope=DEVICE) == 0:
            pass
        tw.store(out, i, tw.load(out, i - 1, ()) + tw.load(x, i, ()))  # <- race
    else:
        tw.store(out, 0, tw.load(x, 0, ()))
    tw.store(flag, i, 1, memory_order=RELAXED, memory_scope=DEVICE)


def gemm_rows_floor(a, b, c):  # <- unwritten
    for i in range(tw.bid(0), c.shape[0] // 32 - 1, tw.num_blocks(0)):
        acc = tw.zeros((32, 32), tw.float32)
        for k in range(3):
            acc = tw.mma(tw.load(a, (i, k), (32, 16)), tw.load(b, (k, 0), (16, 32)), acc)
        tw.store(c, (i, 0), acc)


def gemm_k_tail(a, b, c):
    i = tw.bid(0)
    acc = tw.zeros((32, 32), tw.float32)
    for k in range(tw.cdiv(a.shape[1], 16)):
        acc = tw.mma(tw.load(a, (i, k), (32, 16)), tw.load(b, (k, 0), (16, 32)), acc)
    tw.store(c, (i, 0), acc)  # <- undefined


def cover_short(x, out):
    i = tw.bid(0)
    tw.store(out, i, tw.load(x, i, 16))  # <- unwritten


def list_index(xs, out):
    i = tw.bid(0)
    tw.store(out, i, tw.load(xs[i + 1], 0, 8))  # <- bounds


CASES = [
    (hist_no_atomic, 4, lambda: (np.arange(64, dtype=np.int32) % 7, ints(7))),
    (argmax_padding, 4, lambda: (numbers(60), zeros(1))),
    (store_swapped, 3, lambda: (numbers(48), tw.uninitialized(zeros(48)))),
    (transposed_grid, (2, 2), lambda: (numbers(32, 32), zeros(32, 32))),
    (half_cover, 4, lambda: (numbers(64), tw.uninitialized(zeros(64)))),
    (last_block_relaxed, 4, lambda: (numbers(64), zeros(4), ints(1), zeros(1))),
    (last_block_scope, 4, lambda: (numbers(64), zeros(4), ints(1), zeros(1))),
    (row_sum_ragged, 2, lambda: (numbers(8, 20), zeros(8))),
    (gather_promise, 1, lambda: (numbers(16), np.array([3, 2, 1, 99], np.int32), zeros(4))),
    (load_promise, 2, lambda: (numbers(20), zeros(20))),
    (divisible, 2, lambda: (numbers(32), 12, zeros(32))),
    (halo_write, 3, lambda: (zeros(16), numbers(48))),
    (in_place_shift, 4, lambda: (numbers(64),)),
    (reads_before, 2, lambda: (tw.uninitialized(zeros(32)), zeros(32))),
    (unlock_missing, 4, lambda: (ints(1), ints(4))),
    (unlock_relaxed, 4, lambda: (ints(1), zeros(1), numbers(4))),
    (div_by_zero, 1, lambda: (np.array([4, 0, 2, 0], np.int32), ints(4))),
    (shifted_too_far, 1, lambda: (np.array([4, 31, 32, 0], np.int32), ints(8))),
    (extract_outside, 2, lambda: (numbers(2, 8, 8), zeros(2, 4, 4))),
    (scatter_dup, 4, lambda: (np.array([5, 1, 5, 2] * 4, np.int32), numbers(16), zeros(8))),
    (raw_past_end, 2, lambda: (numbers(32), zeros(16))),
    (sum_into_float_store, 4, lambda: (numbers(64), zeros(1))),
    (branch_on_padding, 3, lambda: (numbers(40), zeros(40), tw.uninitialized(zeros(3)))),
    (neg_tile, 2, lambda: (numbers(30), zeros(30))),
    (flag_plain, 4, lambda: (ints(4), numbers(4), zeros(4))),
    (gemm_rows_floor, 2, lambda: (numbers(64, 48), numbers(48, 32), tw.uninitialized(zeros(64, 32)))),
    (gemm_k_tail, 2, lambda: (numbers(64, 40), numbers(40, 32), zeros(64, 32))),
    (cover_short, 4, lambda: (numbers(70), zeros(70))),
    (list_index, 2, lambda: ([numbers(8), numbers(8)], zeros(16))),
]
