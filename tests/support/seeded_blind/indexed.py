"""Gathers, scatters, histograms, embeddings and routing, each with one defect."""

import numpy as np
from support.seeded_blind.launches import Launch

import tilewright as ct

RELAXED = ct.MemoryOrder.RELAXED


def normal(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


@ct.tile_kernel
def embedding_gradient(grad, tokens, out, TOKENS: ct.Constant[int], WIDTH: ct.Constant[int]):
    """Each token's row of the gradient is added to the row of the table that it came from."""
    for r in range(TOKENS):
        at = ct.bid(0) * TOKENS + r
        token = ct.gather(tokens, at, padding_value=-1)
        if token >= 0:
            row = ct.load(grad, (at, 0), (1, WIDTH))
            # MISSING: column = ct.arange(WIDTH, dtype=ct.int32)[None, :]
            # DEFECT(races): ct.atomic_add(out, (token, column), row, memory_order=RELAXED)
            ct.store(out, (token, 0), ct.load(out, (token, 0), (1, WIDTH)) + row)


def embedding_gradient_launch():
    grad, tokens = normal(1, 30, 16), np.random.default_rng(2).integers(0, 6, 30).astype(np.int32)
    want = np.zeros((6, 16), np.float32)
    np.add.at(want, tokens, grad)
    return Launch((4,), (grad, tokens, np.zeros_like(want), 8, 16), {2: want}, 1e-4)


@ct.tile_kernel
def histogram(x, counts, low, high, TILE: ct.Constant[int]):
    """low <= x <= high; the last bin includes the upper end, as NumPy's does."""
    at = ct.bid(0) * TILE + ct.arange(TILE, dtype=ct.int32)
    t = ct.gather(x, at, padding_value=low - 1)
    bins = counts.shape[0]
    place = ((t - low) * (bins / (high - low))).astype(ct.int32)
    # MISSING: place = ct.minimum(place, bins - 1)
    inside = (t >= low) & (t <= high)
    # HERE(bounds)
    counts.get_raw_memory().atomic_add_offset(place, 1, mask=inside, memory_order=RELAXED)


def histogram_launch():
    x = np.random.default_rng(3).integers(0, 17, 300).astype(np.float32)
    want = np.histogram(x, 16, (0, 16))[0]
    return Launch((5,), (x, np.zeros(16, np.int32), 0.0, 16.0, 64), {1: want})


@ct.tile_kernel
def keep_positive(x, out, used, TILE: ct.Constant[int]):
    """Compaction: each block takes as many places of the result as it has elements to keep."""
    at = ct.bid(0) * TILE + ct.arange(TILE, dtype=ct.int32)
    t = ct.gather(x, at, padding_value=-1)
    keep = t > 0.0
    rank = ct.cumsum(keep.astype(ct.int32)) - 1
    # ALSO: rank += ct.atomic_add(used, 0, ct.sum(keep.astype(ct.int32)), memory_order=RELAXED)
    ct.atomic_add(used, 0, ct.sum(keep.astype(ct.int32)), memory_order=RELAXED)
    # HERE(races)
    ct.scatter(out, rank, t, mask=keep)


def keep_positive_launch():
    x = normal(4, 200)

    def kept(x, out, used, *_):
        return np.array_equal(np.sort(out[:used[0]]), np.sort(x[x > 0])) and (out[used[0]:] == 0).all()

    return Launch((4,), (x, np.zeros_like(x), np.zeros(1, np.int32), 64), verify=kept)


@ct.tile_kernel
def bag_of_words(table, words, out, COUNT: ct.Constant[int], WIDTH: ct.Constant[int]):
    """The mean of the rows of a text's words; short texts are filled up with -1."""
    text = ct.bid(0)
    ids = ct.load(words, (text, 0), (1, COUNT)).reshape((COUNT,))
    at = (ids, ct.Slice(0, WIDTH))
    # DEFECT(initialisation): rows = ct.load_advanced_indexing(table, at, padding_mode=ct.PaddingMode.ZERO)
    rows = ct.load_advanced_indexing(table, at)
    known = ct.sum((ids >= 0).astype(ct.int32))
    # HERE(initialisation)
    ct.store(out, (text, 0), ct.sum(rows, axis=0, keepdims=True) / known)


def bag_of_words_launch():
    table = normal(5, 12, 16)
    words = np.array([[3, 1, 7, 2], [0, 11, -1, -1], [5, -1, -1, -1]], np.int32)
    want = np.stack([table[row[row >= 0]].mean(axis=0) for row in words])
    return Launch((3,), (table, words, np.zeros((3, 16), np.float32), 4, 16), {2: want})


@ct.tile_kernel
def csr_times_vector(starts, columns, values, x, y, TILE: ct.Constant[int]):
    row = ct.bid(0)
    first, last = ct.gather(starts, row), ct.gather(starts, row + 1)
    acc = ct.zeros(TILE, ct.float32)
    for k in range(first, last, TILE):
        at = k + ct.arange(TILE, dtype=ct.int32)
        # DEFECT(bounds): column = ct.gather(columns, at, mask=at < last, check_bounds=False)
        column = ct.gather(columns, at, check_bounds=False)
        value = ct.gather(values, at, mask=at < last)
        acc += value * ct.gather(x, column)
    ct.store(y, row, ct.sum(acc))


def csr_times_vector_launch():
    rng = np.random.default_rng(6)
    dense = np.where(rng.random((12, 30)) < 0.3, rng.standard_normal((12, 30)), 0).astype(np.float32)
    dense[-1] = np.arange(30) < 3  # its entries are the last ones, and no whole tile
    at, x = np.nonzero(dense), normal(7, 30)
    starts = np.concatenate([[0], np.cumsum((dense != 0).sum(axis=1))]).astype(np.int32)
    arrays = starts, at[1].astype(np.int32), dense[at], x, np.zeros(12, np.float32)
    return Launch((12,), (*arrays, 8), {4: dense @ x})


@ct.tile_kernel
def last_seen(keys, last, TILE: ct.Constant[int]):
    """At which position does each key stand last? One block walks over the whole log."""
    for k in range(ct.cdiv(keys.shape[0], TILE)):
        at = k * TILE + ct.arange(TILE, dtype=ct.int32)
        key = ct.gather(keys, at, padding_value=-1)
        # DEFECT(races): ct.atomic_max(last, key, at)
        ct.scatter(last, key, at)


def last_seen_launch():
    keys = np.random.default_rng(8).integers(0, 10, 100).astype(np.int32)
    want = np.array([np.nonzero(keys == key)[0][-1] for key in range(10)])
    return Launch((1,), (keys, np.full(10, -1, np.int32), 32), {1: want})


@ct.tile_kernel
def dispatch(x, experts, used, slots, ROOM: ct.Constant[int], WIDTH: ct.Constant[int]):
    """Tokens go into the slots of their experts, ROOM for each; those for which there is none are dropped."""
    token = ct.bid(0)
    row = ct.load(x, (token, 0), (1, WIDTH))
    expert = ct.load(experts, token, ())
    slot = ct.atomic_add(used, expert, 1, memory_order=RELAXED)
    # ALSO: if slot < ROOM:
    if slot >= 0:
        # HERE(races)
        ct.store(slots, (expert * ROOM + slot, 0), row)


def dispatch_launch():
    x, experts = normal(9, 12, 8), np.array([0, 1, 0, 2, 0, 1, 0, 2, 0, 1, 2, 0], np.int32)

    def each_has_its_own(x, experts, used, slots, *_):
        rows = slots.reshape(3, 4, 8)
        mine = [[tuple(row) for row in x[experts == e]] for e in range(3)]
        return all(tuple(row) in mine[e] for e in range(3) for row in rows[e][:min(used[e], 4)])

    args = (x, experts, np.zeros(3, np.int32), np.zeros((12, 8), np.float32), 4, 8)
    return Launch((12,), args, verify=each_has_its_own)
