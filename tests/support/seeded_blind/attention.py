"""Attention and what stands around it: packed sequences, caches, rotary embeddings; each with one defect."""

import itertools
import math

import numpy as np
from support.seeded_blind.launches import Launch

import tilewright as ct

ZERO = ct.PaddingMode.ZERO


def normal(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def softmax(score):
    e = np.exp(score - score.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


@ct.tile_kernel
def packed_attention(q, k, v, starts, out, T: ct.Constant[int], D: ct.Constant[int]):
    """Short sequences packed behind each other, none longer than T; a block for each."""
    s = ct.bid(0)
    start = ct.load(starts, s, ())
    # ALSO: stop = ct.load(starts, s + 1, ())
    stop = start + T
    # HERE(bounds|races)
    keys, values = k.slice(0, start, stop), v.slice(0, start, stop)
    query = ct.load(q.slice(0, start, stop), (0, 0), (T, D), padding_mode=ZERO)
    key = ct.load(keys, (0, 0), (D, T), order="F", padding_mode=ZERO)
    score = ct.mma(query, key, ct.zeros((T, T), ct.float32)) / math.sqrt(D)
    score = ct.where(ct.arange(T, dtype=ct.int32)[None, :] < stop - start, score, -math.inf)
    e = ct.exp(score - ct.max(score, axis=1, keepdims=True))
    weight = e / ct.sum(e, axis=1, keepdims=True)
    acc = ct.mma(weight, ct.load(values, (0, 0), (T, D), padding_mode=ZERO), ct.zeros((T, D), ct.float32))
    # HERE(bounds|races)
    ct.store(out.slice(0, start, stop), (0, 0), acc)


def packed_attention_launch():
    starts = np.array([0, 10, 26, 33], np.int32)
    q, k, v = normal(1, 3, 33, 16)
    want = np.zeros_like(q)
    for a, b in itertools.pairwise(starts):
        want[a:b] = softmax(q[a:b] @ k[a:b].T / 4) @ v[a:b]
    return Launch((3,), (q, k, v, starts, np.zeros_like(q), 16, 16), {4: want}, 1e-4)


@ct.tile_kernel
def paged_decode(q, pages, table, lengths, out, PAGE: ct.Constant[int], D: ct.Constant[int]):
    """One query for each sequence; its keys, which are the values too, lie in pages; unused entries are -1."""
    s = ct.bid(0)
    length = ct.load(lengths, s, ())
    query = ct.load(q, (s, 0), (1, D))
    acc, total = ct.zeros((1, D), ct.float32), 0.0
    # ALSO: for p in range(ct.cdiv(length, PAGE)):
    for p in range(table.shape[1]):
        page = ct.gather(table, (s, p))
        # HERE(bounds)
        keys = ct.load(pages, (page, 0, 0), (1, PAGE, D)).reshape((PAGE, D))
        place = p * PAGE + ct.arange(PAGE, dtype=ct.int32)
        weight = ct.where(place < length, ct.exp(ct.sum(keys * query, axis=1)), 0.0)
        total += ct.sum(weight)
        acc += ct.sum(weight[:, None] * keys, axis=0, keepdims=True)
    ct.store(out, (s, 0), acc / total)


def paged_decode_launch():
    q, pages = normal(2, 3, 8), normal(3, 10, 4, 8) * 0.5
    table = np.array([[7, 2, -1, -1], [1, 0, 9, 3], [5, -1, -1, -1]], np.int32)
    lengths = np.array([6, 15, 4], np.int32)
    want = np.zeros_like(q)
    for s, length in enumerate(lengths):
        keys = np.concatenate([pages[p] for p in table[s] if p >= 0])[:length]
        want[s] = softmax(keys @ q[s]) @ keys
    return Launch((3,), (q, pages, table, lengths, np.zeros_like(q), 4, 8), {4: want}, 1e-4)


@ct.tile_kernel
def split_decode(score, values, length, tops, sums, parts, finished, out, CHUNK: ct.Constant[int],
                 D: ct.Constant[int], SPLITS: ct.Constant[int]):
    """Chunks of the cache by a block each; the last one merges. The arrays are as long as the longest sequence."""
    s = ct.bid(0)
    start = s * CHUNK
    if start < length:
        here = start + ct.arange(CHUNK, dtype=ct.int32) < length
        t = ct.where(here, ct.load(score, s, CHUNK), -math.inf)
        top = ct.max(t)
        weight = ct.exp(t - top)
        ct.store(tops, s, top)
        ct.store(sums, s, ct.sum(weight))
        ct.store(parts, (s, 0), ct.sum(weight[:, None] * ct.load(values, (s, 0), (CHUNK, D)), axis=0, keepdims=True))
    # MISSING: else:
    # MISSING:     ct.store(tops, s, -math.inf)
    # MISSING:     ct.store(sums, s, 0.0)
    # MISSING:     ct.store(parts, (s, 0), ct.zeros((1, D), ct.float32))
    if ct.atomic_add(finished, 0, 1) == ct.num_blocks(0) - 1:
        # HERE(initialisation)
        tops_of_all = ct.load(tops, 0, SPLITS)
        share = ct.exp(tops_of_all - ct.max(tops_of_all))
        total = ct.sum(share * ct.load(sums, 0, SPLITS))
        acc = ct.sum(share[:, None] * ct.load(parts, (0, 0), (SPLITS, D)), axis=0)
        ct.store(out, 0, acc / total)


def split_decode_launch():
    score, values, length = normal(4, 128), normal(5, 128, 8), 50
    scratch = tuple(ct.uninitialized(np.full(shape, 0.5, np.float32)) for shape in ((8,), (8,), (8, 8)))
    args = (score, values, length, *scratch, np.zeros(1, np.int32), np.zeros(8, np.float32), 16, 8, 8)
    return Launch((8,), args, {7: softmax(score[:length]) @ values[:length]}, 1e-4)


@ct.tile_kernel
def append_keys(fresh, lengths, cache, D: ct.Constant[int]):
    """fresh: (sequences, new tokens, d) go behind what the cache (sequences, room, d) has of each sequence."""
    s, t = ct.bid(0), ct.bid(1)
    row = ct.load(fresh, (s, t, 0), (1, 1, D))
    # ALSO: place = ct.load(lengths, s, ()) + t
    place = ct.load(lengths, s, ())
    # HERE(races)
    ct.store(cache, (s, place, 0), row)


def append_keys_launch():
    fresh, cache, lengths = normal(6, 3, 4, 8), normal(7, 3, 20, 8), np.array([2, 0, 11], np.int32)
    want = cache.copy()
    for s, length in enumerate(lengths):
        want[s, length:length + 4] = fresh[s]
    return Launch((3, 4), (fresh, lengths, cache, 8), {2: want})


@ct.tile_kernel
def rotate(q, cos, sin, HALF: ct.Constant[int]):
    """Rotary embedding in place: a block for each half of a row."""
    row, part = ct.bid(0), ct.bid(1)
    # MISSING: if part == 1: return
    c, s = ct.load(cos, (row, 0), (1, HALF)), ct.load(sin, (row, 0), (1, HALF))
    mine, other = ct.load(q, (row, part), (1, HALF)), ct.load(q, (row, 1 - part), (1, HALF))
    sign = ct.where(part == 0, -1.0, 1.0)
    # MISSING: ct.store(q, (row, 1), other * c + mine * s)
    # HERE(races)
    ct.store(q, (row, part), mine * c + sign * other * s)


def rotate_launch():
    q, angle = normal(8, 6, 32), np.arange(6)[:, None] / (1 + np.arange(16))
    c, s = np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)
    first, second = q[:, :16], q[:, 16:]
    want = np.concatenate([first * c - second * s, second * c + first * s], axis=1)
    return Launch((6, 2), (q, c, s, 16), {0: want})
