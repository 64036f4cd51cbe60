"""Kernels over rows: softmax, norms, losses, choices; each with one defect."""

import math

import numpy as np
from support.seeded_blind.launches import Launch

import tilewright as ct

NEG_INF, ZERO = ct.PaddingMode.NEG_INF, ct.PaddingMode.ZERO


def normal(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


@ct.tile_kernel
def softmax(x, out, WIDTH: ct.Constant[int]):
    row = ct.bid(0)
    # DEFECT(initialisation): t = ct.load(x, (row, 0), (1, WIDTH), padding_mode=NEG_INF)
    t = ct.load(x, (row, 0), (1, WIDTH))
    e = ct.exp(t - ct.max(t, axis=1, keepdims=True))
    ct.store(out, (row, 0), e / ct.sum(e, axis=1, keepdims=True))


def softmax_launch():
    x = normal(1, 6, 50)
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return Launch((6,), (x, np.zeros_like(x), 64), {1: e / e.sum(axis=1, keepdims=True)})


@ct.tile_kernel
def log_sum_exp(x, out, TILE: ct.Constant[int]):
    """In one pass over a long row: a running maximum and a running sum."""
    row = ct.bid(0)
    top, total = -math.inf, 0.0
    for j in range(ct.num_tiles(x, 1, (1, TILE))):
        t = ct.load(x, (row, j), (1, TILE))
        column = j * TILE + ct.arange(TILE, dtype=ct.int32)[None, :]
        # DEFECT(initialisation): t = ct.where(column < x.shape[1], t, -math.inf)
        t = ct.where(column <= x.shape[1], t, -math.inf)
        higher = ct.maximum(top, ct.max(t))
        total = total * ct.exp(top - higher) + ct.sum(ct.exp(t - higher))
        top = higher
    # HERE(initialisation)
    ct.store(out, row, top + ct.log(total))


def log_sum_exp_launch():
    x = normal(2, 4, 150)
    return Launch((4,), (x, np.zeros(4, np.float32), 64), {1: np.log(np.exp(x).sum(axis=1))})


@ct.tile_kernel
def nearest_centroid(points, centroids, labels, COUNT: ct.Constant[int], D: ct.Constant[int]):
    """The assignment step of k-means; COUNT is the number of centroids, rounded up to a power of two."""
    i = ct.bid(0)
    p = ct.load(points, (i, 0), (1, D))
    # HERE(initialisation)
    c = ct.load(centroids, (0, 0), (COUNT, D))
    distance = ct.sum((c - p) * (c - p), axis=1)
    # MISSING: distance = ct.where(ct.arange(COUNT, dtype=ct.int32) < centroids.shape[0], distance, math.inf)
    # HERE(initialisation)
    ct.store(labels, i, ct.argmin(distance))


def nearest_centroid_launch():
    points, centroids = normal(3, 20, 4), normal(4, 5, 4)
    want = ((points[:, None] - centroids) ** 2).sum(axis=2).argmin(axis=1)
    return Launch((20,), (points, centroids, np.zeros(20, np.int32), 8, 4), {2: want})


@ct.tile_kernel
def cross_entropy(logits, labels, loss, WIDTH: ct.Constant[int]):
    """labels: -100 for rows that do not count."""
    row = ct.bid(0)
    t = ct.load(logits, (row, 0), (1, WIDTH), padding_mode=NEG_INF)
    top = ct.max(t)
    label = ct.load(labels, row, ())
    # DEFECT(bounds): picked = ct.gather(logits, (row, label))
    picked = ct.gather(logits, (row, label), check_bounds=False)
    value = top + ct.log(ct.sum(ct.exp(t - top))) - picked
    ct.store(loss, row, ct.where(label >= 0, value, 0.0))


def cross_entropy_launch():
    x, labels = normal(5, 6, 30), np.array([3, 29, -100, 0, 7, -100], np.int32)
    want = np.log(np.exp(x).sum(axis=1)) - x[np.arange(6), np.maximum(labels, 0)]
    return Launch((6,), (x, labels, np.zeros(6, np.float32), 32), {2: np.where(labels >= 0, want, 0)})


@ct.tile_kernel
def scale_gradient(grad, normalised, out, ROWS: ct.Constant[int], WIDTH: ct.Constant[int]):
    """The gradient of a norm's scale: a sum over all rows, of which each block has ROWS."""
    i = ct.bid(0)
    g = ct.load(grad, (i, 0), (ROWS, WIDTH), padding_mode=ZERO)
    t = ct.load(normalised, (i, 0), (ROWS, WIDTH), padding_mode=ZERO)
    part = ct.sum(g * t, axis=0)
    # DEFECT(races): ct.atomic_add(out, ct.arange(WIDTH, dtype=ct.int32), part)
    ct.store(out, 0, ct.load(out, 0, WIDTH) + part)


def scale_gradient_launch():
    grad, normalised = normal(6, 30, 24), normal(7, 30, 24)
    return Launch((4,), (grad, normalised, np.zeros(24, np.float32), 8, 32), {2: (grad * normalised).sum(axis=0)}, 1e-4)


@ct.tile_kernel
def column_mean(x, parts, finished, mean, ROWS: ct.Constant[int], WIDTH: ct.Constant[int], PARTS: ct.Constant[int]):
    """Two passes in one launch: the block that finishes last adds up what all have left."""
    i = ct.bid(0)
    t = ct.load(x, (i, 0), (ROWS, WIDTH), padding_mode=ZERO)
    ct.store(parts, (i, 0), ct.sum(t, axis=0, keepdims=True))
    # ALSO: before = ct.atomic_add(finished, 0, 1)
    before = ct.atomic_add(finished, 0, 1, memory_order=ct.MemoryOrder.RELAXED)
    if before == ct.num_blocks(0) - 1:
        # HERE(races)
        every = ct.load(parts, (0, 0), (PARTS, WIDTH), padding_mode=ZERO)
        ct.store(mean, 0, ct.sum(every, axis=0) / x.shape[0])


def column_mean_launch():
    x = normal(8, 50, 20)
    parts, counter, mean = np.zeros((7, 20), np.float32), np.zeros(1, np.int32), np.zeros(20, np.float32)
    return Launch((7,), (x, parts, counter, mean, 8, 32, 8), {3: x.mean(axis=0)})


@ct.tile_kernel
def invert_nonzero(x, out, TILE: ct.Constant[int]):
    """1 / x for tiles without zeros, the slow way for the others."""
    i = ct.bid(0)
    # DEFECT(initialisation): t = ct.load(x, i, TILE, padding_mode=ct.PaddingMode.NAN)
    t = ct.load(x, i, TILE)
    # HERE(initialisation)
    if ct.any(t == 0.0):
        ct.store(out, i, ct.where(t == 0.0, 0.0, 1.0 / ct.where(t == 0.0, 1.0, t)))
    else:
        ct.store(out, i, 1.0 / t)


def invert_nonzero_launch():
    x = np.arange(-20, 80, dtype=np.float32)
    want = np.divide(1, x, out=np.zeros_like(x), where=x != 0)
    return Launch((4,), (x, np.zeros_like(x), 32), {1: want})


@ct.tile_kernel
def count_zeros(x, count, TILE: ct.Constant[int]):
    """How sparse is x?"""
    i = ct.bid(0)
    # HERE(initialisation)
    t = ct.load(x, i, TILE)
    # MISSING: inside = i * TILE + ct.arange(TILE, dtype=ct.int32) < x.shape[0]
    # ALSO: zeros = ct.sum(ct.where((t == 0.0) & inside, 1, 0))
    zeros = ct.sum(ct.where(t == 0.0, 1, 0))
    # HERE(initialisation)
    ct.atomic_add(count, 0, zeros, memory_order=ct.MemoryOrder.RELAXED)


def count_zeros_launch():
    x = np.maximum(normal(9, 333), 0)
    return Launch((6,), (x, np.zeros(1, np.int32), 64), {1: np.array([(x == 0).sum()])})


@ct.tile_kernel
def best_four(x, values, places, WIDTH: ct.Constant[int]):
    """The four largest logits of each row, for sampling."""
    row = ct.bid(0)
    # DEFECT(initialisation): t = ct.load(x, (row, 0), (1, WIDTH), padding_mode=NEG_INF)
    t = ct.load(x, (row, 0), (1, WIDTH))
    top, at = ct.topk(t, 4, axis=1)
    ct.store(values, (row, 0), top)
    ct.store(places, (row, 0), at)


def best_four_launch():
    x = normal(10, 5, 20)
    order = np.argsort(-x, axis=1)[:, :4]
    arrays = np.zeros((5, 4), np.float32), np.zeros((5, 4), np.int32)
    return Launch((5,), (x, *arrays, 32), {1: np.take_along_axis(x, order, 1), 2: order})
