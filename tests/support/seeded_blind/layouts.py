"""Dropout, quantised weights, transposes, helpers with dataclasses, lists of arrays; each with one defect."""

from dataclasses import dataclass

import numpy as np
from support.seeded_blind.launches import Launch

import tilewright as ct


def normal(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


@ct.tile_kernel
def dropout(x, out, mask, seed, share, TILE: ct.Constant[int]):
    """mask: a bit for each element, for the way back."""
    i = ct.bid(0)
    at = i * TILE + ct.arange(TILE, dtype=ct.int32)
    kept = ct.random.uniform(seed, at) >= share
    ct.store(out, i, ct.where(kept, ct.load(x, i, TILE) / (1.0 - share), 0.0))
    bits = kept.reshape((TILE // 8, 8)).astype(ct.int32) << ct.arange(8, dtype=ct.int32)
    # ALSO: if i * TILE < x.shape[0]:
    if (i + 1) * TILE <= x.shape[0]:
        # HERE(initialisation)
        ct.store(mask, i, ct.sum(bits, axis=1).astype(ct.uint8))


def dropout_launch():
    x = np.abs(normal(1, 200)) + 1

    def fits(x, out, mask, *_):
        kept = np.unpackbits(mask, bitorder="little")[:200].astype(bool)
        return np.allclose(out, np.where(kept, x / 0.75, 0)) and 0.6 < kept.mean() < 0.9

    args = (x, np.zeros_like(x), ct.uninitialized(np.full(25, 255, np.uint8)), 11, 0.25, 64)
    return Launch((4,), args, verify=fits)


@ct.tile_kernel
def dequantise(weight, scale, out, TILE: ct.Constant[int], GROUP: ct.Constant[int]):
    """weight: (n, k) int8, scale: (n, k // GROUP), one for each group of columns."""
    i, j = ct.bid(0), ct.bid(1)
    w = ct.load(weight, (i, j), (TILE, TILE))
    # ALSO: group = j * TILE // GROUP
    group = j * TILE
    # HERE(bounds)
    s = ct.load(scale, (i, group), (TILE, 1))
    ct.store(out, (i, j), w.astype(ct.float32) * s)


def dequantise_launch():
    weight = np.random.default_rng(2).integers(-127, 128, (40, 128)).astype(np.int8)
    scale = np.abs(normal(3, 40, 2))
    want = weight * np.repeat(scale, 64, axis=1)
    return Launch((2, 4), (weight, scale, np.zeros((40, 128), np.float32), 32, 64), {2: want})


@ct.tile_kernel
def transpose_in_place(x, T: ct.Constant[int]):
    """The tiles (i, j) and (j, i) change places."""
    i, j = ct.bid(0), ct.bid(1)
    # MISSING: if j > i: return
    here, there = ct.load(x, (i, j), (T, T)), ct.load(x, (j, i), (T, T))
    # HERE(races)
    ct.store(x, (i, j), ct.transpose(there))
    ct.store(x, (j, i), ct.transpose(here))


def transpose_in_place_launch():
    x = normal(4, 40, 40)
    return Launch((3, 3), (x, 16), {0: x.T.copy()})


@dataclass(frozen=True)
class Moments:
    """The count, the mean, and the sum of squared deviations of what was seen so far."""

    count: ct.Tile
    mean: ct.Tile
    squares: ct.Tile

    def merged(self, other):
        count = self.count + other.count
        delta = other.mean - self.mean
        mean = self.mean + delta * other.count / count
        return Moments(count, mean, self.squares + other.squares + delta * delta * self.count * other.count / count)


def moments(x, row, j, TILE):
    """Of one tile of a row."""
    t = ct.load(x, (row, j), (1, TILE))
    inside = j * TILE + ct.arange(TILE, dtype=ct.int32)[None, :] < x.shape[1]
    count = ct.sum(inside.astype(ct.float32))
    # DEFECT(initialisation): mean = ct.sum(ct.where(inside, t, 0.0)) / count
    mean = ct.sum(t) / count
    return Moments(count, mean, ct.sum(ct.where(inside, (t - mean) * (t - mean), 0.0)))


@ct.tile_kernel
def variance(x, out, TILE: ct.Constant[int]):
    """Welford's method over the tiles of a row."""
    row = ct.bid(0)
    seen = moments(x, row, 0, TILE)
    for j in range(1, ct.num_tiles(x, 1, (1, TILE))):
        seen = seen.merged(moments(x, row, j, TILE))
    # HERE(initialisation)
    ct.store(out, row, seen.squares / seen.count)


def variance_launch():
    x = normal(5, 4, 150) + 3
    return Launch((4,), (x, np.zeros(4, np.float32), 64), {1: x.var(axis=1)}, 1e-4)


@ct.tile_kernel
def scale_layers(weights, layers, factors, TILE: ct.Constant[int]):
    """layers: the numbers of the layers to scale, which a configuration counts from 1."""
    block = ct.bid(0)
    # ALSO: layer = ct.load(layers, block, ()) - 1
    layer = ct.load(layers, block, ())
    # HERE(bounds)
    weight = weights[layer]
    factor = ct.load(factors, block, ())
    for k in range(ct.num_tiles(weight, 0, TILE)):
        # HERE(bounds)
        ct.store(weight, k, ct.load(weight, k, TILE) * factor)


def scale_layers_launch():
    weights = [normal(6 + n, 10 * n) for n in range(1, 5)]
    want = [w * f for w, f in zip(weights, (2, 1, 1, 3), strict=True)]

    def scaled(weights, *_):
        return all(np.allclose(a, b) for a, b in zip(weights, want, strict=True))

    args = (weights, np.array([1, 4], np.int32), np.array([2, 3], np.float32), 16)
    return Launch((2,), args, verify=scaled)


@ct.tile_kernel
def segment_mean(x, starts, out, TILE: ct.Constant[int]):
    """The rounded mean of each of several ragged segments, some of them empty (0 then)."""
    s = ct.bid(0)
    start, stop = ct.load(starts, s, ()), ct.load(starts, s + 1, ())
    total = 0
    for k in range(start, stop, TILE):
        at = k + ct.arange(TILE, dtype=ct.int32)
        total += ct.sum(ct.gather(x, at, mask=at < stop))
    # DEFECT(initialisation): ct.store(out, s, total // max(stop - start, 1))
    ct.store(out, s, total // (stop - start))


def segment_mean_launch():
    x, starts = np.arange(40, dtype=np.int32), np.array([0, 7, 7, 30, 40], np.int32)
    want = np.array([3, 0, 18, 34])
    return Launch((4,), (x, starts, np.zeros(4, np.int32), 8), {2: want})
