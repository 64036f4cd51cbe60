"""Kernels whose results depend on undefined values. The line that uses one says so."""

from __future__ import annotations

import numpy as np

import tilewright as tw

I32 = tw.int32


def floats(*shape):
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape) + 1


def ints(*shape):
    return np.arange(np.prod(shape), dtype=np.int32).reshape(shape)


def bytes_of(*shape):
    return (ints(*shape) % 5 + 1).astype(np.int8)


def row_max(x, out):
    t = tw.load(x, (tw.bid(0), 0), (1, 8))
    tw.store(out, tw.bid(0), tw.max(t))  # <- undefined


def row_min(x, out):
    t = tw.load(x, (tw.bid(0), 0), (1, 8))
    tw.store(out, tw.bid(0), tw.min(t))  # <- undefined


def arg_min(x, out):
    t = tw.load(x, (tw.bid(0), 0), (1, 8))
    tw.store(out, (tw.bid(0), 0), tw.argmin(t, axis=1)[:, None])  # <- undefined


def count_positive(x, out):
    t = tw.load(x, tw.bid(0), 16)
    tw.store(out, tw.bid(0), tw.sum((t > 0.0).astype(I32)))  # <- undefined


def mean(x, out):
    t = tw.load(x, 0, 16)
    s = tw.sum(t) / 16.0
    tw.store(out, 0, t - s)  # <- undefined


def softmax(x, out):
    t = tw.load(x, (tw.bid(0), 0), (1, 8))
    e = tw.exp(t - tw.max(t, axis=1, keepdims=True))
    tw.store(out, (tw.bid(0), 0), e / tw.sum(e, axis=1, keepdims=True))  # <- undefined


def product(a, b, c):
    acc = tw.zeros((16, 16), tw.float32)
    for k in range(tw.num_tiles(a, axis=1, shape=(16, 16))):
        acc = tw.mma(tw.load(a, (0, k), (16, 16)), tw.load(b, (k, 0), (16, 16)), acc)
    tw.store(c, (0, 0), acc)  # <- undefined


def product_padded_once(a, b, c):
    acc = tw.zeros((16, 16), tw.float32)
    zero = tw.PaddingMode.ZERO
    for k in range(tw.num_tiles(a, axis=1, shape=(16, 16))):
        acc = tw.mma(tw.load(a, (0, k), (16, 16), padding_mode=zero), tw.load(b, (k, 0), (16, 16)), acc)
    tw.store(c, (0, 0), acc)  # <- undefined


def product_of_integers(a, b, c):
    tw.store(c, (0, 0), tw.mma(tw.load(a, (0, 0), (16, 16)), tw.load(b, (0, 0), (16, 16)),  # <- undefined
                               tw.zeros((16, 16), I32)))


def scan(x, out):
    t = tw.cumsum(tw.load(x, 0, 16), axis=0, reverse=True)
    tw.store(out, 0, t)  # <- undefined


def fold(x, out):
    t = tw.load(x, 0, 16)
    tw.store(out, 0, tw.reduce(t, 0, lambda a, b: tw.maximum(a, b), 0.0))  # <- undefined


def branch(x, out):
    if tw.sum(tw.load(x, tw.bid(0), 16)) > 3.0:  # <- undefined
        tw.store(out, tw.bid(0), 1.0)


def loop_end(x, out):
    n = tw.max(tw.load(x, 0, 16))
    s = 0
    for k in range(n):  # <- undefined
        s += k
    tw.store(out, 0, s)


def loop_condition(x, out):
    n = tw.max(tw.load(x, 0, 16))
    k = 0
    while k < n:  # <- undefined
        k += 3
    tw.store(out, 0, 1.0)


def index_of_tile(x, out):
    i = tw.min(tw.load(x, 0, 16))
    tw.store(out, i, 1)  # <- undefined


def scattered_at_padding(rows, out):
    i = tw.load(rows, tw.bid(0), 16)
    tw.scatter(out, i, tw.ones((16,), I32))  # <- undefined


def counted_at_padding(rows, counts):
    i = tw.load(rows, tw.bid(0), 16)
    tw.atomic_add(counts, i, 1)  # <- undefined


def added_padding(x, total):
    tw.atomic_add(total, 0, tw.sum(tw.load(x, tw.bid(0), 16)))  # <- undefined


def mask_from_padding(x, out):
    t = tw.load(x, 0, 16)
    i = tw.arange(16, dtype=I32)
    tw.scatter(out, i + 16, tw.ones((16,), I32), mask=t > 3)  # <- undefined


def gathered_value(rows, x, out):
    i = tw.load(rows, 0, 16)
    tw.store(out, 0, tw.sum(tw.gather(x, i)))  # <- undefined


def permuted(x, out):
    t = tw.load(x, (0, 0), (4, 8))
    tw.store(out, (0, 0), tw.permute(t, (1, 0)))  # <- undefined


def joined_with_padding(x, out):
    t = tw.load(x, 0, 16)
    tw.store(out, 0, tw.cat((t, t), 0))  # <- undefined


def wrong_side_masked(x, n, out):
    t = tw.load(x, 0, 16)
    i = tw.arange(16, dtype=I32)
    tw.store(out, 0, tw.sum(tw.where(i < n, 0.0, t)))  # <- undefined


def carried(x, out):
    best = tw.full((), 0.0, tw.float32)
    for k in range(3):
        best = tw.maximum(best, tw.max(tw.load(x, k, 16)))
    tw.store(out, 0, best)  # <- undefined


def chosen_by_branch(x, out):
    i = tw.bid(0)
    s = 0.0
    if i % 2 == 1:
        s = tw.sum(tw.load(x, i, 16))
    tw.store(out, i, s)  # <- undefined


def sub_tile_outside(x, out):
    t = tw.load(x, 0, 16)
    tw.store(out, tw.bid(0), t.extract((tw.bid(0),), (4,)))  # <- undefined


def divided_by_zero(x, y, out):
    tw.store(out, 0, tw.load(x, 0, 16) // tw.load(y, 0, 16))  # <- undefined


def remainder_of_zero(x, n, out):
    tw.store(out, 0, tw.load(x, 0, 16) % n)  # <- undefined


def old_value_outside(out, old):
    i = tw.arange(16, dtype=I32)
    tw.store(old, 0, tw.atomic_add(out, i, 1))  # <- undefined


def asserted(x, out):
    t = tw.load(x, 0, 16)
    tw.assert_(t < 99.0)  # <- undefined
    tw.store(out, 0, t)


def through_integers(x, out):
    t = (tw.load(x, 0, 16) * 3.0).astype(I32) & 7
    tw.store(out, 0, tw.max(t))  # <- undefined


def rows_that_are_not_there(table, ids, out):
    rows = tw.load_advanced_indexing(table, (tw.load(ids, 0, 4), tw.Slice(0, 8)))
    tw.store(out, 0, tw.sum(rows, axis=0))  # <- undefined


def masked_without_padding(x, out):
    i = tw.arange(16, dtype=I32)
    t = x.get_raw_memory().load_offset(i, mask=i < x.shape[0], padding_value=None)
    tw.store(out, 0, tw.sum(t))  # <- undefined


CASES = [
    (row_max, 2, lambda: (floats(2, 6), floats(2))),
    (row_min, 2, lambda: (floats(2, 6), floats(2))),
    (arg_min, 2, lambda: (floats(2, 6), ints(2, 1))),
    (count_positive, 2, lambda: (floats(20), ints(2))),
    (mean, 1, lambda: (floats(10), floats(10))),
    (softmax, 2, lambda: (floats(2, 5), floats(2, 5))),
    (product, 1, lambda: (floats(16, 24), floats(24, 16), floats(16, 16))),
    (product_padded_once, 1, lambda: (floats(16, 24), floats(24, 16), floats(16, 16))),
    (product_of_integers, 1, lambda: (bytes_of(16, 10), bytes_of(10, 16), ints(16, 16))),
    (scan, 1, lambda: (floats(10), floats(10))),
    (fold, 1, lambda: (floats(10), floats(1))),
    (branch, 2, lambda: (floats(20), floats(2))),
    (loop_end, 1, lambda: (ints(10), ints(1))),
    (loop_condition, 1, lambda: (floats(10), floats(1))),
    (index_of_tile, 1, lambda: (ints(10), ints(10))),
    (scattered_at_padding, 1, lambda: (ints(10), ints(16))),
    (counted_at_padding, 2, lambda: (ints(20), ints(20))),
    (added_padding, 2, lambda: (ints(20), ints(1))),
    (mask_from_padding, 1, lambda: (ints(10), ints(32))),
    (gathered_value, 1, lambda: (ints(10), floats(10), floats(1))),
    (permuted, 1, lambda: (floats(3, 8), floats(8, 4))),
    (joined_with_padding, 1, lambda: (floats(10), floats(32))),
    (wrong_side_masked, 1, lambda: (floats(10), 10, floats(1))),
    (carried, 1, lambda: (floats(40), floats(1))),
    (chosen_by_branch, 4, lambda: (floats(60), floats(4))),
    (sub_tile_outside, 5, lambda: (floats(16), floats(20))),
    (divided_by_zero, 1, lambda: (ints(16), ints(16), ints(16))),
    (remainder_of_zero, 1, lambda: (ints(16), 0, ints(16))),
    (old_value_outside, 1, lambda: (ints(10), ints(16))),
    (asserted, 1, lambda: (floats(10), floats(10))),
    (through_integers, 1, lambda: (floats(10), ints(1))),
    (rows_that_are_not_there, 1, lambda: (floats(6, 8), ints(4) * 3 - 1, floats(8))),
    (masked_without_padding, 1, lambda: (floats(10), floats(1))),
]


def masked(x, n, out):
    t = tw.load(x, 0, 16)
    i = tw.arange(16, dtype=I32)
    inside = i < n
    flags = inside & (t > 3.0)
    number = tw.where(inside, t, 0.0)
    tw.store(out, 0, tw.sum(number) + tw.sum(flags.astype(tw.float32)))
    if tw.any(flags):
        tw.store(out, 1, 1.0)


def skipped_by_the_store(x, y, out):
    i = tw.bid(0)
    t = tw.load(x, i, 16) / tw.load(y, i, 16)
    tw.store(out, i, tw.exp(t) - t)


def indices_of_padding(rows, x, out):
    r = tw.load(rows, tw.bid(0), 16)
    tw.store(out, tw.bid(0), tw.gather(x, r) * 2.0)


def zeros_decide(x, n, out):
    t = tw.load(x, 0, 16)
    m = (tw.arange(16, dtype=I32) < n).astype(I32)
    tw.store(out, 0, tw.sum(t * m) + tw.sum(t & (0 - m)))


def divisors_masked(x, y, out):
    a, b = tw.load(x, 0, 16), tw.load(y, 0, 16)
    tw.store(out, 0, tw.where(b != 0, a // b, -1))


def folded_with_flags(x, n, out):
    def later(a, fa, b, fb):
        return tw.where(fb, tw.where(fa, a + b, b), a), fa | fb

    t = tw.load(x, 0, 16)
    s, _ = tw.reduce((t, tw.arange(16, dtype=I32) < n), 0, later, (0.0, False))
    tw.store(out, 0, s)


def rows_of_a_product(a, b, c):
    zero = tw.PaddingMode.ZERO
    acc = tw.zeros((16, 16), tw.float32)
    for k in range(tw.num_tiles(a, axis=1, shape=(16, 16))):
        acc = tw.mma(tw.load(a, (tw.bid(0), k), (16, 16), padding_mode=zero),
                     tw.load(b, (k, 0), (16, 16), padding_mode=zero), acc)
    tw.store(c, (tw.bid(0), 0), acc)


def whole_depth(a, b, c):
    tw.store(c, (tw.bid(0), 0), tw.mma(tw.load(a, (tw.bid(0), 0), (16, 16)), tw.load(b, (0, 0), (16, 16)),
                                       tw.zeros((16, 16), tw.float32)))


def rows_with_padding(table, ids, out):
    at = (tw.load(ids, 0, 4), tw.Slice(0, 8))
    rows = tw.load_advanced_indexing(table, at, padding_mode=tw.PaddingMode.ZERO)
    tw.store(out, 0, tw.sum(rows, axis=0))
    known = tw.load_advanced_indexing(table, at)
    tw.store_advanced_indexing(table, at, known)


def zeros_along_the_depth(a, b, c, d):
    zero = tw.PaddingMode.ZERO
    some, none = tw.load(a, (0, 0), (16, 16)), tw.load(a, (0, 0), (16, 16), padding_mode=zero)
    other = tw.load(b, (0, 0), (16, 16), padding_mode=zero)
    tw.store(c, (0, 0), tw.mma(some, other, tw.zeros((16, 16), I32)))
    tw.store(d, (0, 0), tw.mma(none, tw.load(b, (0, 0), (16, 16)), tw.zeros((16, 16), I32)))


def place_of_the_largest_so_far(x, out):
    def later(a, i, b, j):
        return tw.where(b > a, b, a), tw.where(b > a, j, i)

    _, place = tw.scan((tw.load(x, 0, 16), tw.arange(16, dtype=I32)), 0, later, (-1.0, 0))
    tw.store(out, 0, place)


def stored_where_it_is_defined(x, out):
    i = tw.bid(0)
    s = 0.0
    if i % 2 == 1:
        s = tw.sum(tw.load(x, i, 16))
    if i % 2 == 0:
        tw.store(out, i, s)


CLEAN = [
    (rows_with_padding, 1, lambda: (floats(6, 8), ints(4) * 3 - 1, floats(8))),
    (zeros_along_the_depth, 1, lambda: (bytes_of(16, 10), bytes_of(10, 16), ints(16, 16), ints(16, 16))),
    (place_of_the_largest_so_far, 1, lambda: (floats(10), ints(10))),
    (stored_where_it_is_defined, 4, lambda: (floats(60), floats(4))),
    (masked, 1, lambda: (floats(10), 10, floats(2))),
    (skipped_by_the_store, 2, lambda: (floats(20), floats(20), floats(20))),
    (indices_of_padding, 2, lambda: (ints(20), floats(20), floats(20))),
    (zeros_decide, 1, lambda: (ints(10), 10, ints(1))),
    (divisors_masked, 1, lambda: (ints(16), ints(16), ints(16))),
    (folded_with_flags, 1, lambda: (floats(10), 10, floats(1))),
    (rows_of_a_product, 2, lambda: (floats(24, 24), floats(24, 20), floats(24, 20))),
    (whole_depth, 2, lambda: (floats(24, 16), floats(16, 12), floats(24, 12))),
]
"""Right kernels that look like the ones above."""
