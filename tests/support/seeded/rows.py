"""Softmax, norms, losses and other reductions of rows, each with the defect that its marked lines show."""

from __future__ import annotations

import numpy as np
from support.seeded.inputs import counters, empty, floats, ints, zeros

import tilewright as tw

I32, F32 = tw.int32, tw.float32
NEG_INF, ZERO = tw.PaddingMode.NEG_INF, tw.PaddingMode.ZERO


def softmax_of_ragged_rows(x, out):
    row = tw.bid(0)
    t = tw.load(x, (row, 0), (1, 16))
    e = tw.exp(t - tw.max(t, axis=1, keepdims=True))
    tw.store(out, (row, 0), e / tw.sum(e, axis=1, keepdims=True))  # <- undefined


def layer_norm_of_ragged_rows(x, weight, out, eps):
    row = tw.bid(0)
    t = tw.load(x, (row, 0), (1, 16))
    mean = tw.sum(t, axis=1, keepdims=True) / x.shape[1]
    centred = t - mean
    var = tw.sum(centred * centred, axis=1, keepdims=True) / x.shape[1]
    y = centred * tw.rsqrt(var + eps) * tw.load(weight, 0, 16)[None, :]
    tw.store(out, (row, 0), y)  # <- undefined


def variance_of_the_padding(x, out):
    row = tw.bid(0)
    t = tw.load(x, (row, 0), (1, 16))
    inside = (tw.arange(16, dtype=I32) < x.shape[1])[None, :]
    mean = tw.sum(tw.where(inside, t, 0.0)) / x.shape[1]
    var = tw.sum((t - mean) * (t - mean)) / x.shape[1]
    tw.store(out, row, var)  # <- undefined


def smallest_of_each_row(x, out):
    t = tw.load(x, (tw.bid(0), 0), (4, 16))
    tw.store(out, tw.bid(0), tw.min(t, axis=1))  # <- undefined


def best_token(logits, out):
    t = tw.load(logits, (tw.bid(0), 0), (1, 16))
    tw.store(out, tw.bid(0), tw.argmax(t, axis=1))  # <- undefined


def embedding_of_the_best(logits, table, out):
    t = tw.load(logits, (tw.bid(0), 0), (1, 16))
    best = tw.argmax(t)
    row = tw.gather(table, (best, tw.arange(8, dtype=I32)))
    tw.store(out, (tw.bid(0), 0), row[None, :])  # <- undefined


def online_softmax_last_tile(x, out):
    row = tw.bid(0)
    largest = tw.full((1, 1), -1e30, F32)
    total = tw.zeros((1, 1), F32)
    for k in range(tw.num_tiles(x, 1, (1, 8))):
        t = tw.load(x, (row, k), (1, 8))
        new = tw.maximum(largest, tw.max(t, axis=1, keepdims=True))
        total = total * tw.exp(largest - new) + tw.sum(tw.exp(t - new), axis=1, keepdims=True)
        largest = new
    tw.store(out, (row, 0), tw.log(total) + largest)  # <- undefined


def ignored_label(logits, labels, loss):
    row = tw.bid(0)
    t = tw.load(logits, (row, 0), (1, 16), padding_mode=NEG_INF)
    label = tw.load(labels, row, ())
    target = tw.gather(logits, (row, label), check_bounds=False)  # <- bounds
    tw.store(loss, row, tw.log(tw.sum(tw.exp(t))) - target)


def mean_of_empty_segments(starts, x, out):
    s = tw.bid(0)
    first, last = tw.load(starts, s, ()), tw.load(starts, s + 1, ())
    total = tw.zeros((), I32)
    for n in range(first, last):
        total += tw.load(x, n, ())
    tw.store(out, s, total // (last - first))  # <- undefined


def longest_decides(lengths, x, out):
    n = tw.max(tw.load(lengths, 0, 8))
    acc = tw.zeros((16,), F32)
    for k in range(n):  # <- undefined
        acc += tw.load(x, (k, 0), (1, 16), padding_mode=ZERO).reshape((16,))
    tw.store(out, 0, acc)


def skip_if_all_zero(x, out):
    t = tw.load(x, (tw.bid(0), 0), (1, 16))
    if tw.max(tw.abs(t)) > 0.0:  # <- undefined
        tw.store(out, (tw.bid(0), 0), t)
    else:
        tw.store(out, (tw.bid(0), 0), tw.full((1, 16), 1.0, F32))


def weight_gradient(x, dy, dw):
    row = tw.bid(0)
    part = tw.load(x, (row, 0), (1, 16)) * tw.load(dy, (row, 0), (1, 16))
    tw.store(dw, (0, 0), tw.load(dw, (0, 0), (1, 16)) + part)  # <- race


def two_rows_to_one_place(x, out):
    row = tw.bid(0)
    tw.store(out, row // 2, tw.sum(tw.load(x, (row, 0), (1, 16))))  # <- race


def column_sums(x, out):
    i, j = tw.bid(0), tw.bid(1)
    part = tw.sum(tw.load(x, (i, j), (8, 8)), axis=0)
    before = tw.load(out, j, 8)  # <- race
    tw.store(out, j, before + part)  # <- race


def largest_by_comparison(x, best):
    m = tw.max(tw.load(x, tw.bid(0), 16))
    if m > tw.load(best, 0, ()):  # <- race
        tw.store(best, 0, m)  # <- race


def statistics_of_the_wrong_row(x, mean):  # <- unwritten
    i = tw.bid(0)
    t = tw.load(x, (i, 0), (4, 16))
    tw.store(mean, i * 4, tw.sum(t, axis=1) / 16.0)  # <- bounds


def top_of_padding(x, values, places):
    t = tw.load(x, tw.bid(0), 16)
    v, p = tw.topk(t, 4)
    tw.store(values, tw.bid(0), v)  # <- undefined
    tw.store(places, tw.bid(0), p)  # <- undefined


def sorted_with_padding(x, out):
    tw.store(out, 0, tw.sort(tw.load(x, 0, 16)))  # <- undefined


def counted_zeros(x, out):
    t = tw.load(x, tw.bid(0), 16)
    tw.store(out, tw.bid(0), tw.sum(tw.where(t == 0.0, 1, 0)))  # <- undefined


CASES = [
    (softmax_of_ragged_rows, (3,), lambda: (floats(3, 10), empty(3, 10))),
    (layer_norm_of_ragged_rows, (3,), lambda: (floats(3, 10), floats(10), empty(3, 10), 1e-5)),
    (variance_of_the_padding, (3,), lambda: (floats(3, 10), empty(3))),
    (smallest_of_each_row, (2,), lambda: (floats(8, 10), empty(8))),
    (best_token, (3,), lambda: (floats(3, 10), empty(3, dtype=np.int32))),
    (embedding_of_the_best, (3,), lambda: (floats(3, 10), floats(10, 8), empty(3, 8))),
    (online_softmax_last_tile, (3,), lambda: (floats(3, 20), empty(3, 1))),
    (ignored_label, (3,), lambda: (floats(3, 10), ints(3, -100, 5), empty(3))),
    (mean_of_empty_segments, (3,), lambda: (ints(0, 2, 2, 4), ints(4, 5, 6, 7), empty(3, dtype=np.int32))),
    (longest_decides, (1,), lambda: (ints(2, 3, 1, 2, 2), floats(4, 16), empty(16))),
    (skip_if_all_zero, (3,), lambda: (floats(3, 10), empty(3, 10))),
    (weight_gradient, (4,), lambda: (floats(4, 16), floats(4, 16), zeros(1, 16))),
    (two_rows_to_one_place, (4,), lambda: (floats(4, 16), empty(2))),
    (column_sums, (3, 2), lambda: (floats(24, 16), zeros(16))),
    (largest_by_comparison, (4,), lambda: (floats(64), zeros(1))),
    (statistics_of_the_wrong_row, (4,), lambda: (floats(16, 16), empty(16))),
    (top_of_padding, (2,), lambda: (floats(26), empty(8), empty(8, dtype=np.int32))),
    (sorted_with_padding, (1,), lambda: (floats(10), empty(10))),
    (counted_zeros, (2,), lambda: (floats(26), counters(2))),
]
