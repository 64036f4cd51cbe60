"""Kernels whose numbers go wrong. The line at which they do says how."""

from __future__ import annotations

import numpy as np

import tilewright as tw

I32 = tw.int32


def floats(*shape):
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def softmax_of_nothing(x, out):
    t = tw.load(x, (tw.bid(0), 0), (1, 8), padding_mode=tw.PaddingMode.NEG_INF)
    shifted = t - tw.max(t, axis=1, keepdims=True)  # <- nan
    e = tw.exp(shifted)
    tw.store(out, (tw.bid(0), 0), e / tw.sum(e, axis=1, keepdims=True))


def variance_of_one(x, out):
    t = tw.load(x, tw.bid(0), 8)
    n = tw.sum(tw.where(t > 100.0, 1.0, 0.0))
    mean = tw.sum(t) / (n - 8.0 + 8.0)  # <- overflow
    tw.store(out, tw.bid(0), mean)


def log_of_zero(x, out):
    t = tw.load(x, tw.bid(0), 8)
    tw.store(out, tw.bid(0), tw.log(t))  # <- overflow


def root_of_negative(x, out):
    t = tw.load(x, tw.bid(0), 8) - 4.0
    tw.store(out, tw.bid(0), tw.sqrt(t) + 1.0)  # <- nan


def exp_overflows(x, out):
    t = tw.load(x, tw.bid(0), 8) * 20.0
    e = tw.exp(t)  # <- overflow
    tw.store(out, tw.bid(0), e)


def sum_in_half(x, out):
    t = tw.load(x, 0, 8).astype(tw.float16) * 8000.0
    tw.store(out, 0, tw.sum(t).astype(tw.float32))  # <- overflow


def square_in_half(x, out):
    t = tw.load(x, 0, 8).astype(tw.float16)
    tw.store(out, 0, (t * 100.0 * t * 100.0).astype(tw.float32))  # <- overflow


def cast_to_half(x, out):
    t = (tw.load(x, 0, 8) * 10000.0).astype(tw.float16)  # <- overflow
    tw.store(out, 0, t.astype(tw.float32))


def difference_of_infinities(x, out):
    e = tw.exp(tw.load(x, 0, 8) * 50.0)
    tw.store(out, 0, e - e)  # <- nan


def product_of_large(a, b, c):
    left, right = tw.load(a, (0, 0), (16, 16)), tw.load(b, (0, 0), (16, 16))
    tw.store(c, (0, 0), tw.mma(left, right, tw.zeros((16, 16), tw.float32)))  # <- overflow


def atomic_nan(x, out):
    t = tw.load(x, 0, 8)
    tw.atomic_add(out, 0, tw.sum((t - t) / (t - t)))  # <- nan


def in_a_loop(x, out):
    t = tw.load(x, 0, 8) + 2.0
    for _ in range(12):
        t = t * t  # <- overflow
    tw.store(out, 0, t)


def index_wraps(x, out):
    i = (tw.bid(0) + 1) * 1_500_000_000  # <- wrap
    tw.store(out, tw.bid(0), tw.gather(x, i, mask=i < 0))


def row_times_stride(x, out):
    rows = tw.arange(8, dtype=I32) * 400_000_000  # <- wrap
    tw.scatter(out, rows, tw.load(x, 0, 8))


def narrow_counter(x, out):
    n = tw.arange(8, dtype=I32) * 50
    tw.store(out, 0, n.astype(tw.int8))  # <- lossy


def float_to_int(x, out):
    t = tw.load(x, 0, 8) * 1e9
    tw.store(out, 0, t.astype(I32))  # <- lossy


def large_int_to_float(x, out):
    n = tw.arange(8, dtype=I32) + 16777217
    tw.store(out, 0, n.astype(tw.float32))  # <- lossy


CASES = [
    (softmax_of_nothing, (2,), lambda: (np.full((2, 8), -np.inf, np.float32), floats(2, 8))),
    (variance_of_one, (2,), lambda: (np.ones(16, np.float32), floats(2))),
    (log_of_zero, (2,), lambda: (floats(16), floats(16))),
    (root_of_negative, (2,), lambda: (floats(16), floats(16))),
    (exp_overflows, (2,), lambda: (floats(16), floats(16))),
    (sum_in_half, (1,), lambda: (floats(8), floats(1))),
    (square_in_half, (1,), lambda: (floats(8), floats(8))),
    (cast_to_half, (1,), lambda: (floats(8), floats(8))),
    (difference_of_infinities, (1,), lambda: (floats(8), floats(8))),
    (product_of_large, (1,), lambda: (np.full((16, 16), 1e30, np.float32),) * 2 + (np.zeros((16, 16), np.float32),)),
    (atomic_nan, (1,), lambda: (floats(8), floats(1))),
    (in_a_loop, (1,), lambda: (floats(8), floats(8))),
    (index_wraps, (2,), lambda: (floats(8), floats(2))),
    (row_times_stride, (1,), lambda: (floats(8), floats(8))),
    (narrow_counter, (1,), lambda: (floats(8), np.zeros(8, np.int8))),
    (float_to_int, (1,), lambda: (floats(8), np.zeros(8, np.int32))),
    (large_int_to_float, (1,), lambda: (floats(8), floats(8))),
]


def ragged_quotient(x, out):
    i = tw.bid(0)
    t = tw.load(x, i, 8, padding_mode=tw.PaddingMode.ZERO)
    tw.store(out, i, t / t)


def masked_logarithm(x, out):
    t = tw.load(x, 0, 8)
    tw.store(out, 0, tw.where(t > 0.0, tw.log(t), 0.0))


def sigmoid(x, out):
    t = tw.load(x, 0, 8) * -100.0
    tw.store(out, 0, 1.0 / (1.0 + tw.exp(-t)))


def given_nan(x, out):
    t = tw.load(x, 0, 8)
    tw.store(out, 0, t * 2.0 + tw.sum(t))


def hashed_index(x, out):
    h = ((tw.arange(8, dtype=tw.uint32) + 1) * 2654435761) >> 29
    tw.scatter(out, h.astype(I32), tw.load(x, 0, 8))


CLEAN = [
    (ragged_quotient, (2,), lambda: (floats(13) + 1, floats(13))),
    (masked_logarithm, (1,), lambda: (floats(8), floats(8))),
    (sigmoid, (1,), lambda: (floats(8), floats(8))),
    (given_nan, (1,), lambda: (np.array([1, np.nan, np.inf, 0, 1, 2, 3, 4], np.float32), floats(8))),
    (hashed_index, (1,), lambda: (floats(8), floats(8))),
]
