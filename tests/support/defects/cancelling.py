"""Kernels whose sums and differences cancel, at the marked lines, and twins that compute the same without it."""

from __future__ import annotations

import numpy as np

import tilewright as tw

ZERO, F32, F64 = tw.PaddingMode.ZERO, tw.float32, tw.float64


def variance_of_squares(x, out):
    t = tw.load(x, (tw.bid(0), 0), (1, 64))
    mean = tw.sum(t) / 64
    tw.store(out, tw.bid(0), tw.sum(t * t) / 64 - mean * mean)  # <- cancellation


def variance_of_squares_in_a_loop(x, out, n):
    total, squares = tw.zeros((8,), F32), tw.zeros((8,), F32)
    for k in range(n):
        t = tw.reshape(tw.load(x, (tw.bid(0), k), (1, 8)), (8,))
        total += t
        squares += t * t
    mean = tw.sum(total) / (8 * n)
    variance = tw.sum(squares) / (8 * n) - mean * mean  # <- cancellation
    tw.store(out, tw.bid(0), tw.sqrt(tw.maximum(variance, 0.0)))


def smaller_root(a, b, c, out):
    i = tw.bid(0)
    p, q, r = tw.load(a, i, 8), tw.load(b, i, 8), tw.load(c, i, 8)
    root = tw.sqrt(q * q - 4.0 * p * r)
    tw.store(out, i, (-q + root) / (2.0 * p))  # <- cancellation


def discriminant(a, b, c, out):
    p, q, r = tw.load(a, 0, 8), tw.load(b, 0, 8), tw.load(c, 0, 8)
    tw.store(out, 0, q * q - 4.0 * p * r)  # <- cancellation


def exponential_less_one(x, out):
    tw.store(out, 0, tw.exp(tw.load(x, 0, 8)) - 1.0)  # <- cancellation


def one_less_cosine(x, out):
    t = tw.load(x, 0, 8)
    tw.store(out, 0, (1.0 - tw.cos(t)) / (t * t))  # <- cancellation


def opposite_sum(x, y, out):
    a, b = tw.sqrt(tw.load(x, 0, 8)), tw.sqrt(tw.load(y, 0, 8))
    tw.store(out, 0, a + (-b))  # <- cancellation


def narrow_difference(x, out):
    t = (tw.load(x, 0, 8) * 1.1).astype(tw.float16)
    tw.store(out, 0, (t - 1.1).astype(F32))  # <- cancellation


def wide_difference(x, out):
    t = tw.load(x, 0, 8).astype(F64)
    tw.store(out, 0, (tw.sqrt(t * t + 1.0) - t).astype(F32))  # <- cancellation


def matrix_difference(a, b, out):
    left, right = tw.load(a, (0, 0), (16, 16)), tw.load(b, (0, 0), (16, 16))
    product = tw.mma(left, right, tw.zeros((16, 16), F32))
    tw.store(out, (0, 0), product - tw.sum(product * 0.99999, axis=0, keepdims=True) / 16)  # <- cancellation


def numbers(*shape, mean=0.0, spread=1.0):
    return (mean + spread * np.random.default_rng(7).standard_normal(shape)).astype(np.float32)


def nothing(*shape):
    return np.zeros(shape, np.float32)


def equation():
    return np.ones(16, np.float32), np.full(16, 3e3, np.float32) + numbers(16), np.ones(16, np.float32), nothing(16)


def double_root():
    q = numbers(8, mean=2.0)
    return np.full(8, 1.1, np.float32), q, q * q / np.float32(4.4), nothing(8)


CASES = [
    (variance_of_squares, 4, lambda: (numbers(4, 64, mean=100, spread=0.1), nothing(4))),
    (variance_of_squares_in_a_loop, 4, lambda: (numbers(4, 64, mean=100, spread=0.1), nothing(4), 8)),
    (smaller_root, 2, equation),
    (discriminant, 1, double_root),
    (exponential_less_one, 1, lambda: (numbers(8, spread=1e-5), nothing(8))),
    (one_less_cosine, 1, lambda: (numbers(8, mean=3e-3, spread=1e-4), nothing(8))),
    (opposite_sum, 1, lambda: (numbers(8, mean=9, spread=1e-5), np.full(8, 9, np.float32) - 1e-4, nothing(8))),
    (narrow_difference, 1, lambda: (numbers(8, mean=1.0, spread=1e-4), nothing(8))),
    (wide_difference, 1, lambda: (np.full(8, 3e4, np.float32), nothing(8))),
    (matrix_difference, 1, lambda: (np.full((16, 16), 1.1, np.float32), np.full((16, 16), 1.3, np.float32),
                                    nothing(16, 16))),
]


def variance_of_distances(x, out):
    t = tw.load(x, (tw.bid(0), 0), (1, 64))
    distance = t - tw.sum(t) / 64
    tw.store(out, tw.bid(0), tw.sum(distance * distance) / 64)


def root_without_difference(a, b, c, out):
    i = tw.bid(0)
    p, q, r = tw.load(a, i, 8), tw.load(b, i, 8), tw.load(c, i, 8)
    root = tw.sqrt(q * q - 4.0 * p * r)
    tw.store(out, i, 2.0 * r / (-q - root))


def no_exponential(x, out):
    tw.store(out, 0, tw.expm1(tw.load(x, 0, 8)))


def exact_operands(x, y, out):
    tw.store(out, 0, tw.load(x, 0, 8) - tw.load(y, 0, 8))


def whole_numbers(x, out):
    t = tw.round(tw.load(x, 0, 64) * 4.0)
    ends = tw.cumsum(t * t)
    tw.store(out, 0, ends - (ends - 1.0))


def softmax(x, w, out):
    scores = tw.load(x, (tw.bid(0), 0), (1, 64)) * tw.load(w, (0, 0), (1, 64))
    e = tw.exp(scores - tw.max(scores, axis=1, keepdims=True))
    tw.store(out, (tw.bid(0), 0), e / tw.sum(e, axis=1, keepdims=True))


def online_softmax(x, out, n):
    top, total = tw.full((1, 1), -1e30, F32), tw.zeros((1, 1), F32)
    for k in range(n):
        scores = tw.load(x, (tw.bid(0), k), (1, 16)) * 0.3
        new = tw.maximum(top, tw.max(scores, axis=1, keepdims=True))
        total = total * tw.exp(top - new) + tw.sum(tw.exp(scores - new), axis=1, keepdims=True)
        top = new
    tw.store(out, (tw.bid(0), 0), top + tw.log(total))


def compensated_sum(x, out, n):
    total, low = tw.zeros((8,), F32), tw.zeros((8,), F32)
    for k in range(n):
        y = tw.load(x, k, 8) * 0.1 - low
        t = total + y
        low = (t - total) - y
        total = t
    tw.store(out, 0, total)


def exact_terms(x, y, z, out):
    """Neither the sum nor the difference of fractions has rounded."""
    t, u, v = tw.load(x, 0, 8), tw.load(y, 0, 8), tw.load(z, 0, 8)
    tw.store(out, 0, ((t + u) - v) * ((t - u) - (v - 0.5)))


CLEAN = [
    (exact_terms, 1, lambda: (np.full(8, 1.5, np.float32), np.full(8, 0.25, np.float32),
                              np.full(8, 1.75 * (1 - 2.0**-20), np.float32), nothing(8))),
    (variance_of_distances, 4, lambda: (numbers(4, 64, mean=100, spread=0.1), nothing(4))),
    (root_without_difference, 2, equation),
    (no_exponential, 1, lambda: (numbers(8, spread=1e-5), nothing(8))),
    (exact_operands, 1, lambda: (np.ones(8, np.float32), np.nextafter(np.ones(8, np.float32), np.float32(2)),
                                 nothing(8))),
    (whole_numbers, 1, lambda: (numbers(64, spread=100), nothing(64))),
    (softmax, 4, lambda: (numbers(4, 64, mean=9, spread=1e-4), np.full((1, 64), 1.1, np.float32), nothing(4, 64))),
    (online_softmax, 4, lambda: (numbers(4, 64, mean=9, spread=1e-4), nothing(4, 1), 4)),
    (compensated_sum, 1, lambda: (numbers(64, mean=1), nothing(8), 8)),
]
