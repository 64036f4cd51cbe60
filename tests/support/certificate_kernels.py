"""Kernels whose outputs `out` depend on the order of blocks, on the grid, or on other rows, and kernels that do not.

`# <- order`, `# <- grid`, `# <- batch` mark the line that stands in the way; what has no such mark is independent. What
depends on the order is shown independent of nothing. Rows are those along axis 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import tilewright as tw

I32, F32 = tw.int32, tw.float32
ZERO = tw.PaddingMode.ZERO
ACQUIRE, RELEASE, DEVICE = tw.MemoryOrder.ACQUIRE, tw.MemoryOrder.RELEASE, tw.MemoryScope.DEVICE
T = 4


def sums_by_atomics(x, out):
    tw.atomic_add(out, 0, tw.sum(tw.load(x, tw.bid(0), T)))  # <- order


def split_k_by_atomics(a, b, out):
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((T, T), F32)
    for k in range(tw.bid(2), tw.cdiv(a.shape[1], T), tw.num_blocks(2)):
        acc = tw.mma(tw.load(a, (i, k), (T, T)), tw.load(b, (k, j), (T, T)), acc)
    rows = i * T + tw.arange(T, dtype=I32)[:, None]
    tw.atomic_add(out, (rows, j * T + tw.arange(T, dtype=I32)[None, :]), acc)  # <- order


def split_k_without_atomics(a, out):
    i = tw.bid(0)
    total = tw.load(out, i, T)  # <- order
    tw.store(out, i, total + tw.sum(tw.load(a, (i, tw.bid(1)), (T, T)), axis=1))


def partials_by_block(x, out):
    i = tw.bid(0)
    tw.store(out, i, tw.sum(tw.load(x, i, T)))  # <- batch


def partials_of_all_blocks(x, out):
    total = tw.zeros((T,), F32)
    for i in range(tw.bid(0), tw.cdiv(x.shape[0], T), tw.num_blocks(0)):  # <- grid
        total += tw.load(x, i, T)  # <- batch
    tw.store(out, tw.bid(0), tw.sum(total))


def splits_by_rows(x, out):
    i = tw.bid(0)
    splits = tw.cdiv(16, x.shape[0])  # <- batch
    total = tw.zeros((1, T), F32)
    for part in range(splits):
        some = tw.zeros((1, T), F32)
        for k in range(part, tw.cdiv(x.shape[1], T), splits):
            some += tw.load(x, (i, k), (1, T))
        total += some
    tw.store(out, i, tw.sum(total, axis=1))


def dropout_by_block(x, out):
    i = tw.bid(0)
    keep = (tw.arange(T, dtype=I32) * 7 + i * 13) % 5 > 0  # <- batch
    tw.store(out, i, tw.where(keep, tw.load(x, i, T), 0.0))


def weighted_by_place(x, out):
    i = tw.bid(0)
    tw.store(out, i, tw.load(x, i, T) * tw.arange(T, dtype=F32))  # <- batch


def argmax_by_atomics(x, best, out):
    t = tw.load(x, tw.bid(0), T)
    top = tw.max(t)
    if top >= tw.atomic_max(best, 0, top):
        tw.atomic_xchg(out, 0, tw.bid(0) * T + tw.argmax(t, axis=0))  # <- order


def in_turn(flag, out):
    i = tw.bid(0)
    while tw.load(flag, 0, (), memory_order=ACQUIRE, memory_scope=DEVICE) < i:
        pass
    tw.store(out, 0, tw.load(out, 0, ()) * 3 + i)  # <- order
    tw.store(flag, 0, i + 1, memory_order=RELEASE, memory_scope=DEVICE)


def under_a_lock(lock, x, out):
    while tw.atomic_cas(lock, 0, 0, 1, memory_order=ACQUIRE) == 1:
        pass
    tw.store(out, 0, tw.load(out, 0, T) + tw.load(x, tw.bid(0), T))  # <- order
    tw.atomic_xchg(lock, 0, 0, memory_order=RELEASE)


def tickets(counter, x, out):
    place = tw.atomic_add(counter, 0, 1)  # <- order
    tw.store(out, place, tw.load(x, tw.bid(0), T))


def last_block_sums(x, parts, counter, out):
    tw.store(parts, tw.bid(0), tw.sum(tw.load(x, tw.bid(0), T)))
    if tw.atomic_add(counter, 0, 1, memory_order=tw.MemoryOrder.ACQ_REL) == tw.num_blocks(0) - 1:  # <- order
        tw.store(out, 0, tw.sum(tw.load(parts, 0, 4, padding_mode=ZERO)))


def batch_norm(x, out):
    i = tw.bid(0)
    total = tw.zeros((1, T), F32)
    for r in range(x.shape[0]):
        total += tw.load(x, (r, 0), (1, T))  # <- batch
    tw.store(out, (i, 0), tw.load(x, (i, 0), (1, T)) - total)


def softmax_of_columns(x, out):
    t = tw.exp(tw.load(x, (tw.bid(0), 0), (T, T)))
    tw.store(out, (tw.bid(0), 0), t / tw.sum(t, axis=0, keepdims=True))  # <- batch


def sums_down_the_rows(x, out):
    tw.store(out, (tw.bid(0), 0), tw.cumsum(tw.load(x, (tw.bid(0), 0), (T, T)), axis=0))  # <- batch


def row_above(x, out):
    i = tw.bid(0) + 1
    tw.store(out, (i, 0), tw.load(x, (i - 1, 0), (1, T)))  # <- batch


def heat_in_place(out):
    at = tw.bid(0) * T + tw.arange(T, dtype=I32)
    left = tw.gather(out, at - 1)  # <- order
    tw.scatter(out, at, left + tw.gather(out, at + 1))


def scattered(x, at, out):
    tw.scatter(out, tw.load(at, tw.bid(0), T), tw.load(x, tw.bid(0), T))  # <- order


def exchanged(out):
    tw.atomic_xchg(out, 0, tw.bid(0))  # <- order


def swapped(out):
    tw.atomic_cas(out, 0, 0, tw.bid(0) + 1)  # <- order


def counted(x, out):
    tw.atomic_add(out, 0, tw.sum(tw.where(tw.load(x, tw.bid(0), T) > 0, 1, 0)))  # <- grid, batch


def sum_and_largest(x, out):
    t = tw.load(x, tw.bid(0), T).astype(I32)
    tw.atomic_add(out, 0, tw.sum(t))
    tw.atomic_max(out, 0, tw.max(t))  # <- order


def mean_over_blocks(x, out):
    i = tw.bid(0)
    tw.store(out, i, tw.load(x, i, T) / tw.num_blocks(0))  # <- grid, batch


def mean_over_rows(x, out):
    i = tw.bid(0)
    tw.store(out, (i, 0), tw.load(x, (i, 0), (T, T)) / x.shape[0])  # <- batch


def running_rows(x, out):
    total = tw.zeros((1, T), F32)
    for r in range(x.shape[0]):  # <- batch
        total += tw.load(x, (r, 0), (1, T))
        tw.store(out, (r, 0), total)


def overwritten_by_block(x, out):
    for i in range(tw.bid(0), tw.cdiv(x.shape[0], T), tw.num_blocks(0)):
        tw.store(out, i, tw.load(x, i, T))
    tw.store(out, tw.bid(0), tw.zeros((T,), F32))  # <- grid, batch


def scratch_of_blocks(x, scratch, out):
    for i in range(tw.bid(0), tw.cdiv(x.shape[0], T), tw.num_blocks(0)):
        tw.store(scratch, tw.bid(0), tw.load(scratch, tw.bid(0), T) + tw.load(x, i, T))
        tw.store(out, i, tw.load(scratch, tw.bid(0), T))  # <- grid, batch


def stored_in_two_shares(x, out):
    for i in range(tw.bid(0), tw.cdiv(x.shape[0], T), tw.num_blocks(0)):
        tw.store(out, i, tw.load(x, i, T))
    for i in range(tw.bid(0), tw.cdiv(x.shape[0], T), tw.num_blocks(0)):
        tw.store(out, i, tw.load(x, i, T) * 2.0)  # <- grid, batch


def columns_in_pairs(x, out):
    t = tw.reshape(tw.load(x, (tw.bid(0), 0), (T, 8)), (T, 2, 4))
    tw.store(out, (tw.bid(0), 0), tw.max(t, axis=1))


def last_one_wins(x, out):
    tw.store(out, 0, tw.load(x, tw.bid(0), T))  # <- order


def rows_folded(x, out):
    t = tw.load(x, (tw.bid(0), 0), (T, 2))  # <- batch
    tw.store(out, (tw.bid(0), 0), tw.reshape(t, (2, T)))


def other_values_for_odd_tiles(x, out):
    i = tw.bid(0)
    if i % 2 == 0:  # <- batch
        tw.store(out, (i, 0), tw.load(x, (i, 0), (T, T)))
    else:
        tw.store(out, (i, 0), tw.load(x, (i, 0), (T, T)) * 2.0)


def other_values_for_each_third_row(x, out):
    rows = tw.bid(0) * T + tw.arange(T, dtype=I32)
    for t in range(3):
        tw.scatter(out, rows, tw.gather(x, rows) * t, mask=rows % 3 == t)  # <- batch


def first_blocks_only(x, out):
    for i in range(tw.bid(0), tw.cdiv(x.shape[0], T), tw.num_blocks(0)):
        if tw.bid(0) < 2:  # <- grid, batch
            tw.store(out, i, tw.load(x, i, T) * 2.0)


def every_second_share(x, out):
    for i in range(tw.bid(0), tw.cdiv(x.shape[0], T), tw.num_blocks(0) * 2):  # <- grid
        tw.store(out, i, tw.load(x, i, T))


def block_that_has_it(x, out):
    for i in range(tw.bid(0), tw.cdiv(x.shape[0], T), tw.num_blocks(0)):
        tw.store(out, i, tw.load(x, i, T) + tw.bid(0))  # <- grid, batch


# -- What is independent


def add(x, y, out):
    i = tw.bid(0)
    tw.store(out, i, tw.load(x, i, T) + tw.load(y, i, T))


def in_place(out):
    i = tw.bid(0)
    tw.store(out, i, tw.load(out, i, T) * 2.0)


def softmax(x, out):
    row = tw.bid(0)
    t = tw.load(x, (row, 0), (1, 2 * T), padding_mode=tw.PaddingMode.NEG_INF)
    e = tw.exp(t - tw.max(t))
    tw.store(out, (row, 0), e / tw.sum(e))


def sums_of_rows(x, out):
    i = tw.bid(0)
    total = tw.zeros((T, T), F32)
    for k in range(tw.cdiv(x.shape[1], T)):
        total += tw.load(x, (i, k), (T, T), padding_mode=ZERO)
    tw.store(out, i, tw.sum(total, axis=1))


def rows_of_one_block(x, out):
    for r in range(tw.bid(0) * T, min(tw.bid(0) * T + T, x.shape[0])):
        tw.store(out, (r, 0), tw.cumsum(tw.load(x, (r, 0), (1, T)), axis=1))


def masked_rows(x, w, out):
    rows = tw.bid(0) * T + tw.arange(T, dtype=I32)[:, None]
    columns = tw.arange(2 * T, dtype=I32)[None, :]
    inside = (rows < out.shape[0]) & (columns < out.shape[1])
    t = tw.gather(x, (rows, columns), mask=inside) * tw.gather(w, columns)
    tw.scatter(out, (rows, columns), t, mask=inside)


def looked_up(table, at, out):
    i = tw.bid(0)
    tw.store(out, (i, 0), tw.load(table, (tw.load(at, i, ()), 0), (1, T)))


def product(a, b, out):
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((T, T), F32)
    for k in range(tw.cdiv(a.shape[1], T)):
        acc = tw.mma(tw.load(a, (i, k), (T, T), padding_mode=ZERO), tw.load(b, (k, j), (T, T), padding_mode=ZERO), acc)
    tw.store(out, (i, j), acc)


def persistent_product(a, b, out):
    rows, columns = tw.cdiv(out.shape[0], T), tw.cdiv(out.shape[1], T)
    for number in range(tw.bid(0), rows * columns, tw.num_blocks(0)):
        i, j = number // columns, number % columns
        acc = tw.zeros((T, T), F32)
        for k in range(tw.cdiv(a.shape[1], T)):
            acc = tw.mma(tw.load(a, (i, k), (T, T), padding_mode=ZERO),
                         tw.load(b, (k, j), (T, T), padding_mode=ZERO), acc)
        tw.store(out, (i, j), acc)


def shared_out_over_two_axes(x, out):
    first = tw.bid(0) + tw.bid(1) * tw.num_blocks(0)
    for i in range(first, tw.cdiv(x.shape[0], T), tw.num_blocks(0) * tw.num_blocks(1)):
        tw.store(out, i, tw.sqrt(tw.load(x, i, T)))


def histogram(x, out):
    for i in range(tw.bid(0), tw.cdiv(x.shape[0], T), tw.num_blocks(0)):
        tw.atomic_add(out, tw.load(x, i, T).astype(I32) % 8, 1)  # <- batch


def largest(x, out):
    tw.atomic_max(out, 0, tw.max(tw.load(x, tw.bid(0), T)))  # <- grid, batch


def by_way_of_scratch(x, scratch, out):
    for i in range(tw.bid(0), tw.cdiv(x.shape[0], T), tw.num_blocks(0)):
        tw.store(scratch, i, tw.load(x, i, T) * 2.0)
        tw.store(out, i, tw.load(scratch, i, T) + 1.0)


def f(*shape: int) -> Any:
    return ((np.arange(np.prod(shape)) * 37 % 101).reshape(shape) / np.float32(16)).astype(np.float32)


def i32(*numbers: int) -> Any:
    return np.array(numbers, np.int32)


def z(*shape: int, dtype: Any = np.float32) -> Any:
    return np.zeros(shape, dtype)


N = 4 * T
CASES: list[tuple[Any, tuple[int, ...], Any]] = [
    (sums_by_atomics, (4,), lambda: (f(N), z(1))),
    (split_k_by_atomics, (2, 2, 2), lambda: (f(8, N), f(N, 8), z(8, 8))),
    (split_k_without_atomics, (2, 2), lambda: (f(8, 8), z(8))),
    (partials_by_block, (4,), lambda: (f(N), z(4))),
    (partials_of_all_blocks, (2,), lambda: (f(N), z(2))),
    (splits_by_rows, (4,), lambda: (f(4, N), z(4))),
    (dropout_by_block, (4,), lambda: (f(N), z(N))),
    (weighted_by_place, (4,), lambda: (f(N), z(N))),
    (argmax_by_atomics, (4,), lambda: (f(N), z(1), i32(0))),
    (in_turn, (4,), lambda: (i32(0), i32(0))),
    (under_a_lock, (4,), lambda: (i32(0), f(N), z(T))),
    (tickets, (4,), lambda: (i32(0), f(N), z(N))),
    (last_block_sums, (4,), lambda: (f(N), z(4), i32(0), z(1))),
    (batch_norm, (4,), lambda: (f(4, T), z(4, T))),
    (softmax_of_columns, (2,), lambda: (f(8, T), z(8, T))),
    (sums_down_the_rows, (2,), lambda: (f(8, T), z(8, T))),
    (row_above, (4,), lambda: (f(5, T), z(5, T))),
    (heat_in_place, (4,), lambda: (f(N),)),
    (scattered, (4,), lambda: (f(N), i32(*(n % 5 for n in range(N))), z(5))),
    (exchanged, (4,), lambda: (i32(0),)),
    (swapped, (4,), lambda: (i32(0),)),
    (counted, (4,), lambda: (f(N), i32(0))),
    (sum_and_largest, (4,), lambda: (f(N), i32(0))),
    (mean_over_blocks, (4,), lambda: (f(N), z(N))),
    (mean_over_rows, (2,), lambda: (f(8, T), z(8, T))),
    (running_rows, (1,), lambda: (f(4, T), z(4, T))),
    (overwritten_by_block, (2,), lambda: (f(N), z(N))),
    (scratch_of_blocks, (2,), lambda: (f(N), z(2 * T), z(N))),
    (stored_in_two_shares, (2,), lambda: (f(N), z(N))),
    (columns_in_pairs, (2,), lambda: (f(2 * T, 8), z(2 * T, 4))),
    (last_one_wins, (4,), lambda: (f(N), z(T))),
    (rows_folded, (2,), lambda: (f(8, 2), z(4, T))),
    (other_values_for_odd_tiles, (4,), lambda: (f(N, T), z(N, T))),
    (other_values_for_each_third_row, (4,), lambda: (f(N), z(N))),
    (first_blocks_only, (3,), lambda: (f(N), z(N))),
    (every_second_share, (2,), lambda: (f(N), z(N))),
    (block_that_has_it, (2,), lambda: (f(N), z(N))),
    (add, (4,), lambda: (f(N), f(N), z(N))),
    (in_place, (4,), lambda: (f(N),)),
    (softmax, (5,), lambda: (f(5, 7), z(5, 7))),
    (sums_of_rows, (2,), lambda: (f(7, 10), z(7))),
    (rows_of_one_block, (2,), lambda: (f(7, T), z(7, T))),
    (masked_rows, (2,), lambda: (f(7, 6), f(6), z(7, 6))),
    (looked_up, (4,), lambda: (f(9, T), i32(8, 0, 3, 3), z(4, T))),
    (product, (2, 2), lambda: (f(7, 10), f(10, 6), z(7, 6))),
    (persistent_product, (3,), lambda: (f(7, 10), f(10, 6), z(7, 6))),
    (shared_out_over_two_axes, (2, 2), lambda: (f(N), z(N))),
    (histogram, (3,), lambda: (f(N), z(8, dtype=np.int32))),
    (largest, (4,), lambda: (f(N), z(1))),
    (by_way_of_scratch, (3,), lambda: (f(N), z(N), z(N))),
]
