"""Gathers, scatters, counters and tables, each with the defect that its marked lines show."""

from __future__ import annotations

import numpy as np
from support.seeded.inputs import counters, empty, floats, ints, zeros

import tilewright as tw

I32, F32 = tw.int32, tw.float32


def histogram_by_reading(x, bins):
    v = tw.load(x, tw.bid(0), 8)
    tw.scatter(bins, v, tw.gather(bins, v) + 1)  # <- race


def seen_flags_counted(x, seen, count):
    v = tw.load(x, tw.bid(0), 8)
    new = tw.gather(seen, v) == 0  # <- race
    tw.scatter(seen, v, 1)  # <- race
    tw.atomic_add(count, 0, tw.sum(tw.where(new, 1, 0)))


def row_pointers_one_short(pointers, columns, values, x, out):
    r = tw.bid(0)
    acc = tw.zeros((), F32)
    for n in range(tw.load(pointers, r, ()), tw.load(pointers, r + 1, ())):  # <- bounds
        acc += tw.load(values, n, ()) * tw.gather(x, tw.load(columns, n, ()))
    tw.store(out, r, acc)


def embedding_gradient(tokens, dy, table):
    t = tw.load(tokens, tw.bid(0), ())
    row = tw.load(table, (t, 0), (1, 8))  # <- race
    tw.store(table, (t, 0), row + tw.load(dy, (tw.bid(0), 0), (1, 8)))  # <- race


def segments_stored_plainly(segment, x, out):
    s = tw.load(segment, tw.bid(0), 8)
    tw.scatter(out, s, tw.load(x, tw.bid(0), 8))  # <- race


def queue_position_by_reading(experts, heads, queue):
    e = tw.load(experts, tw.bid(0), ())
    place = tw.load(heads, e, ())  # <- race
    tw.store(heads, e, place + 1)  # <- race
    tw.scatter(queue, (e, place), tw.bid(0))


def compaction_with_skipped_lanes(x, count, out):
    t = tw.load(x, tw.bid(0), 8)
    keep = t > 1.0
    place = tw.atomic_add(count, tw.where(keep, 0, 99), 1)
    tw.scatter(out, place, t)  # <- undefined, race


def insert_without_looking(keys, table):
    k = tw.load(keys, tw.bid(0), ())
    at = k % 8
    if tw.load(table, at, ()) == 0:  # <- race
        tw.atomic_xchg(table, at, k)  # <- race


def scaled_twice(rows, x, out):
    r = tw.load(rows, tw.bid(0), 8)
    v = tw.gather(x, (r * 8, tw.arange(8, dtype=I32)), check_bounds=False)  # <- bounds
    tw.store(out, tw.bid(0), v)


def page_that_is_not_there(pages, cache, out):
    p = tw.load(pages, tw.bid(0), ())
    t = tw.load(cache, (p, 0), (1, 8))  # <- bounds
    tw.store(out, (tw.bid(0), 0), t)


def no_permutation(places, x, out):  # <- unwritten
    p = tw.load(places, tw.bid(0), 8)
    tw.scatter(out, p, tw.load(x, tw.bid(0), 8))  # <- race


def partner_of_the_network(x):
    i = tw.bid(0)
    mine = tw.load(x, i, ())
    other = tw.load(x, i ^ 1, ())  # <- race
    tw.store(x, i, tw.minimum(mine, other))  # <- race


def sums_into_empty(x, out):
    tw.atomic_add(out, 0, tw.sum(tw.load(x, tw.bid(0), 8)))  # <- undefined


def index_of_the_end(x, out):
    last = tw.gather(x, x.shape[0], check_bounds=False)  # <- bounds
    tw.store(out, tw.bid(0), last)


def rows_and_columns_exchanged(x, out):
    r = tw.bid(0) * 8 + tw.arange(8, dtype=I32)
    tw.scatter(out, (tw.full((8,), 1, I32), r), tw.gather(x, (r, tw.full((8,), 1, I32))),  # <- bounds
               check_bounds=False)


def mask_of_the_wrong_length(x, out, n):
    at = tw.bid(0) * 16 + tw.arange(16, dtype=I32)
    tw.scatter(out, at, tw.gather(x, at), mask=at <= n, check_bounds=False)  # <- bounds


def atomics_behind_the_end(x, bins):
    tw.atomic_add(bins, tw.load(x, tw.bid(0), 8), 1, check_bounds=False)  # <- bounds


CASES = [
    (histogram_by_reading, (4,), lambda: (np.arange(32, dtype=np.int32) % 5, counters(8))),
    (seen_flags_counted, (4,), lambda: (np.arange(32, dtype=np.int32) % 5, counters(8), counters(1))),
    (row_pointers_one_short, (3,), lambda: (ints(0, 2, 3), ints(0, 1, 2, 1), floats(4), floats(3), zeros(3))),
    (embedding_gradient, (4,), lambda: (ints(3, 1, 3, 0), floats(4, 8), zeros(5, 8))),
    (segments_stored_plainly, (2,), lambda: (np.arange(16, dtype=np.int32) // 3, floats(16), zeros(6))),
    (queue_position_by_reading, (4,), lambda: (ints(0, 1, 0, 1), counters(2), counters(2, 4))),
    (compaction_with_skipped_lanes, (2,), lambda: (floats(16), counters(1), zeros(16))),
    (insert_without_looking, (4,), lambda: (ints(1, 9, 2, 10), counters(8))),
    (scaled_twice, (2,), lambda: (np.arange(16, dtype=np.int32), floats(16, 8), empty(16))),
    (page_that_is_not_there, (3,), lambda: (ints(2, -1, 0), floats(4, 8), empty(3, 8))),
    (no_permutation, (2,), lambda: (np.array([*range(12), 3, 4, 5, 6], np.int32), floats(16), empty(16))),
    (partner_of_the_network, (8,), lambda: (floats(8),)),
    (sums_into_empty, (3,), lambda: (floats(24), empty(1))),
    (index_of_the_end, (2,), lambda: (floats(8), empty(2))),
    (rows_and_columns_exchanged, (2,), lambda: (floats(16, 4), zeros(16, 4))),
    (mask_of_the_wrong_length, (2,), lambda: (floats(20), zeros(20), 20)),
    (atomics_behind_the_end, (2,), lambda: (np.arange(16, dtype=np.int32), counters(12))),
]
