"""Sorting, searching and counting, each with one defect."""

import numpy as np
from support.seeded_blind.launches import Launch

import tilewright as ct


@ct.tile_kernel
def exchange(keys, out, distance, size, TILE: ct.Constant[int]):
    """One step of a bitonic sort: partners lie `distance` apart, maybe in another block's tile."""
    at = ct.bid(0) * TILE + ct.arange(TILE, dtype=ct.int32)
    mine, other = ct.gather(keys, at), ct.gather(keys, at ^ distance)
    takes_small = ((at & distance) == 0) == ((at & size) == 0)
    # DEFECT(races): ct.scatter(out, at, ct.where(takes_small, ct.minimum(mine, other), ct.maximum(mine, other)))
    ct.scatter(keys, at, ct.where(takes_small, ct.minimum(mine, other), ct.maximum(mine, other)))


def exchange_launch():
    keys = np.random.default_rng(1).permutation(64).astype(np.int32)
    pairs = keys.reshape(2, 2, 16)
    want = np.stack([np.sort(pairs[0], axis=0), np.sort(pairs[1], axis=0)[::-1]]).reshape(-1)
    return Launch((4,), (keys, np.zeros_like(keys), 16, 32, 16), {1: want})


@ct.tile_kernel
def lower_bound(table, keys, places):
    """Where each key would stand in the sorted table."""
    i = ct.bid(0)
    key = ct.load(keys, i, ())
    low, high = 0, table.shape[0]
    # HERE(progress)
    while low < high:
        middle = (low + high) // 2
        if ct.gather(table, middle) < key:
            # DEFECT(progress): low = middle + 1
            low = middle
        else:
            high = middle
    ct.store(places, i, low)


def lower_bound_launch():
    table, keys = np.arange(0, 60, 3, dtype=np.int32), np.array([-1, 0, 7, 30, 58, 99], np.int32)
    return Launch((6,), (table, keys, np.zeros(6, np.int32)), {2: np.searchsorted(table, keys)})


@ct.tile_kernel
def find_root(parent, root):
    """Connected components: from each vertex up to the root of its tree, which is its own parent."""
    i = ct.bid(0)
    vertex = i * 1
    # DEFECT(progress): while ct.gather(parent, vertex) != vertex:
    while ct.gather(parent, vertex) != -1:
        vertex = ct.gather(parent, vertex)
    ct.store(root, i, vertex)


def find_root_launch():
    parent = np.array([0, 0, 1, 3, 3, 2, 4], np.int32)
    return Launch((7,), (parent, np.zeros(7, np.int32)), {1: np.array([0, 0, 0, 3, 3, 0, 3])})


@ct.tile_kernel
def count_digits(keys, counts, shift, TILE: ct.Constant[int]):
    """One block's part of a radix sort: how often each digit of 4 bits occurs; counts: scratch memory."""
    # MISSING: ct.store(counts, 0, ct.zeros((16,), ct.int32))
    for k in range(ct.cdiv(keys.shape[0], TILE)):
        at = k * TILE + ct.arange(TILE, dtype=ct.int32)
        digit = (ct.gather(keys, at) >> shift) & 15
        digit = ct.where(at < keys.shape[0], digit, -1)
        # HERE(initialisation)
        ct.atomic_add(counts, digit, 1)


def count_digits_launch():
    keys = np.random.default_rng(2).integers(0, 1 << 16, 100).astype(np.int32)
    counts = ct.uninitialized(np.full(16, 3, np.int32))
    return Launch((1,), (keys, counts, 4, 32), {1: np.bincount(keys >> 4 & 15, minlength=16)})


@ct.tile_kernel
def kth_smallest(x, ranks, out, WIDTH: ct.Constant[int]):
    """ranks: from 1, the smallest, up to the length of the row."""
    row = ct.bid(0)
    t = ct.sort(ct.load(x, (row, 0), (1, WIDTH), padding_mode=ct.PaddingMode.POS_INF)).reshape((WIDTH,))
    k = ct.load(ranks, row, ())
    # A sub-tile outside of its tile is an undefined value, not an access.
    # DEFECT(initialisation): ct.store(out, row, t.extract((k - 1,), ()))
    ct.store(out, row, t.extract((k,), ()))


def kth_smallest_launch():
    x, ranks = np.random.default_rng(3).standard_normal((4, 16), dtype=np.float32), np.array([1, 8, 16, 3], np.int32)
    want = np.sort(x, axis=1)[np.arange(4), ranks - 1]
    return Launch((4,), (x, ranks, np.zeros(4, np.float32), 16), {2: want})
