"""Attention by blocks of keys (online softmax), with gradients: causal, a window, soft cap, shared key heads, packed
sequences.

Arrays are (batch, heads, tokens, d), or packed (tokens, heads, d) with `starts`, where each sequence begins and the
last one ends. Queries stand at the end of the keys: query i sees keys up to i + keys - queries if that is causal.
"""

import math
from dataclasses import dataclass

import tilewright as tw
from tilewright.kernels.device.common import LOG2E, ZERO, store_as, wide


@dataclass(frozen=True)
class Mask:
    """Which scores count, and how they are bent: all constants."""

    causal: bool
    window: int | None
    cap: float | None
    negative: bool = False  # the scale is below zero: the greatest score is that of the least product


def sequence_of(x, starts, sequence):
    """The part of a packed array that is one sequence; other arrays as they are."""
    if starts is None:
        return x
    axis = 0 if x.ndim == 3 else 1  # (tokens, heads, d), or of numbers by row (heads, tokens)
    return x.slice(axis, tw.gather(starts, sequence), tw.gather(starts, sequence + 1))


def tokens_of(x):
    return x.shape[x.ndim - 3] if x.ndim == 3 else x.shape[2]


def load_rows(x, batch, head, i, rows, width):
    """(rows, width): a tile of the tokens of one head, zeros behind the end."""
    if x.ndim == 3:
        return tw.load(x, (i, head, 0), (rows, 1, width), padding_mode=ZERO).reshape((rows, width))
    return tw.load(x, (batch, head, i, 0), (1, 1, rows, width), padding_mode=ZERO).reshape((rows, width))


def store_rows(x, batch, head, i, t):
    t = t.astype(x.dtype)
    if x.ndim == 3:
        tw.store(x, (i, head, 0), t.reshape((t.shape[0], 1, t.shape[1])))
    else:
        tw.store(x, (batch, head, i, 0), t.reshape((1, 1, *t.shape)))


def load_numbers(x, batch, head, i, rows):
    """(rows,): one number for each token of a head, from (batch, heads, tokens) or (heads, tokens)."""
    if x.ndim == 2:
        return tw.load(x, (head, i), (1, rows), padding_mode=ZERO).reshape((rows,))
    return tw.load(x, (batch, head, i), (1, 1, rows), padding_mode=ZERO).reshape((rows,))


def store_numbers(x, batch, head, i, t):
    if x.ndim == 2:
        store_as(x, (head, i), t.reshape((1, t.shape[0])))
    else:
        store_as(x, (batch, head, i), t.reshape((1, 1, t.shape[0])))


def numbers(first, n):
    """first and the next ones, n in all. What is below 0 or at the end of int32 is hidden alike: `first` stays where
    no sum of a mask wraps, so that the compiler knows in which tiles it hides nothing."""
    return min(max(first, -n), 2**31 - 1 - n) + tw.arange(n, dtype=tw.int32)


def seen(row, column, mask, kept):
    """Which keys the queries see of those that are `kept` (None: all), both numbered from the same one."""
    if mask.causal:
        before = column <= row
        kept = before if kept is None else kept & before
    if mask.window is not None:
        near = column > row - mask.window
        kept = near if kept is None else kept & near
    return kept


def key_tiles(i, tm, tn, keys, offset, mask):
    """The tiles of keys that the queries of tile i see: the first, and the one behind the last."""
    stop = min(keys, max((i + 1) * tm + offset, 0)) if mask.causal else keys
    start = 0 if mask.window is None else max(i * tm + offset - mask.window + 1, 0) // tn
    return start, tw.cdiv(stop, tn)


def query_tiles(j, tm, tn, queries, offset, mask):
    """The tiles of queries that see the keys of tile j: the first, and the one behind the last."""
    start = max(j * tn - offset, 0) // tm if mask.causal else 0
    stop = queries if mask.window is None else min(queries, max((j + 1) * tn - 1 - offset + mask.window, 0))
    return start, tw.cdiv(stop, tm)


def scores(a, b, scale, mask, dtype):
    """(rows of a, rows of b): products of the rows, bent by the cap, and what a score is a multiple of."""
    score = tw.mma(a, b.transpose(), tw.zeros((a.shape[0], b.shape[0]), dtype))
    return (score, scale) if mask.cap is None else (mask.cap * tw.tanh(score * (scale / mask.cap)), 1.0)


def in_twos(x, dtype):
    """The argument of exp as `power` wants it."""
    return x if dtype == tw.float64 else x * LOG2E


def power(t):
    """exp of what was `in_twos`: of multiples of a factor that was, it takes one multiply-add and one instruction."""
    return tw.exp(t) if t.dtype == tw.float64 else tw.exp2(t, flush_to_zero=True)


@tw.tile_kernel
def attend(q, k, v, starts, out, lse, scale, mask: tw.Constant[Mask], tm: tw.Constant[int], tn: tw.Constant[int],
           width: tw.Constant[int]):
    """Grid: tiles of tm queries, heads, batch or sequences. lse becomes the logarithm of each row's sum."""
    head, batch = tw.bid(1), tw.bid(2)
    i = tw.num_blocks(0) - 1 - tw.bid(0) if mask.causal else tw.bid(0)  # the longest first
    queries, keys, values = (sequence_of(x, starts, batch) for x in (q, k, v))
    count, length = tokens_of(queries), tokens_of(keys)
    if starts is not None and i * tm >= count:
        return
    shared = head // (lse.shape[lse.ndim - 2] // k.shape[1])
    dtype = wide(q.dtype)
    query = load_rows(queries, batch, head, i, tm, width)
    if mask.negative:
        query, scale = -query, -scale
    row = numbers(i * tm + length - count, tm)[:, None]
    top, total = tw.full((tm, 1), -math.inf, dtype), tw.zeros((tm, 1), dtype)
    acc = tw.zeros((tm, width), dtype)
    first, last = key_tiles(i, tm, tn, length, length - count, mask)
    for j in range(first, last):
        score, factor = scores(query, load_rows(keys, batch, shared, j, tn, width), scale, mask, dtype)
        factor = in_twos(factor, dtype)
        column = j * tn + tw.arange(tn, dtype=tw.int32)[None, :]
        score = tw.where(seen(row, column, mask, column < length), score, -math.inf)
        higher = tw.maximum(top, tw.max(score, axis=1, keepdims=True))
        # A row that has seen no key yet has -inf, from which nothing may be subtracted.
        base = tw.where(higher == -math.inf, 0.0, higher)
        weight, shrink = power(score * factor - base * factor), power((top - base) * factor)
        total = total * shrink + tw.sum(weight, axis=1, keepdims=True)
        acc = tw.mma(weight.astype(v.dtype), load_rows(values, batch, shared, j, tn, width), acc * shrink)
        top = higher
    share = tw.where(total == 0.0, 0.0, 1.0 / total)
    store_rows(sequence_of(out, starts, batch), batch, head, i, acc * share)
    if mask.cap is None:
        top = top * scale
    sums = tw.where(total == 0.0, -math.inf, top + tw.log(total))
    store_numbers(sequence_of(lse, starts, batch), batch, head, i, sums)


@tw.tile_kernel
def row_products(out, grad, lse_grad, delta, tm: tw.Constant[int], width: tw.Constant[int]):
    """delta = sum over d of out * grad, less the cotangent of lse. Grid: tiles of tokens, heads, batches."""
    i, head, batch = tw.bid(0), tw.bid(1), tw.bid(2)
    dtype = wide(out.dtype)
    above = load_rows(grad, batch, head, i, tm, width).astype(dtype)
    product = tw.sum(load_rows(out, batch, head, i, tm, width).astype(dtype) * above, axis=1, keepdims=True)
    if lse_grad is not None:
        product -= load_numbers(lse_grad, batch, head, i, tm)[:, None]
    store_numbers(delta, batch, head, i, product)


def weight_and_slope(scored, gained, log_sum, product, kept, scale, mask):
    """The weights as the forward pass had them, and the gradient of the scaled scores before the cap. `scored`: a tile
    of queries and one of keys in the order of the result's axes, `gained`: of gradients and values; log_sum and product
    have one number for each query."""
    dtype = log_sum.dtype
    rows, columns = scored
    score, factor = scores(rows, columns, scale, mask, dtype)
    weight = power(score * in_twos(factor, dtype) - in_twos(log_sum, dtype))
    if kept is not None:
        weight = tw.where(kept, weight, 0.0)
    rows, columns = gained
    slope = weight * (tw.mma(rows, columns.transpose(), tw.zeros(weight.shape, dtype)) - product)
    if mask.cap is not None:
        bent = score / mask.cap
        slope = slope * (1.0 - bent * bent)
    return weight, slope


@tw.tile_kernel
def key_gradients(q, k, v, grad, lse, delta, starts, dk, dv, scale, mask: tw.Constant[Mask], tm: tw.Constant[int],
                  tn: tw.Constant[int], width: tw.Constant[int]):
    """Grid: tiles of tn keys, key heads, batch or sequences. All heads that share the key head add up."""
    j, shared, batch = tw.bid(0), tw.bid(1), tw.bid(2)
    queries, keys, values, above = (sequence_of(x, starts, batch) for x in (q, k, v, grad))
    sums, products = (sequence_of(x, starts, batch) for x in (lse, delta))
    count, length = tokens_of(queries), tokens_of(keys)
    if j * tn >= length:
        return
    dtype = wide(q.dtype)
    key, value = load_rows(keys, batch, shared, j, tn, width), load_rows(values, batch, shared, j, tn, width)
    # Keys are rows, so that weights are the operand of the next product as they lie in registers.
    column = numbers(j * tn - (length - count), tn)[:, None]
    key_sum, value_sum = tw.zeros((tn, width), dtype), tw.zeros((tn, width), dtype)
    first, last = query_tiles(j, tm, tn, count, length - count, mask)
    group = lse.shape[lse.ndim - 2] // k.shape[1]
    for head in range(shared * group, (shared + 1) * group):
        for i in range(first, last):
            row = i * tm + tw.arange(tm, dtype=tw.int32)[None, :]
            query, g = load_rows(queries, batch, head, i, tm, width), load_rows(above, batch, head, i, tm, width)
            # Rows behind the last query are zeros, of keys behind the last one nothing is stored.
            weight, slope = weight_and_slope(
                (key, query), (value, g), load_numbers(sums, batch, head, i, tm)[None, :],
                load_numbers(products, batch, head, i, tm)[None, :], seen(row, column, mask, None), scale, mask)
            value_sum = tw.mma(weight.astype(q.dtype), g, value_sum)
            key_sum = tw.mma(slope.astype(q.dtype), query, key_sum)
    store_rows(sequence_of(dk, starts, batch), batch, shared, j, key_sum * scale)
    store_rows(sequence_of(dv, starts, batch), batch, shared, j, value_sum)


@tw.tile_kernel
def query_gradients(q, k, v, grad, lse, delta, starts, dq, scale, mask: tw.Constant[Mask], tm: tw.Constant[int],
                    tn: tw.Constant[int], width: tw.Constant[int]):
    """Grid: tiles of tm queries, heads, batch or sequences."""
    i, head, batch = tw.bid(0), tw.bid(1), tw.bid(2)
    queries, keys, values, above = (sequence_of(x, starts, batch) for x in (q, k, v, grad))
    count, length = tokens_of(queries), tokens_of(keys)
    if i * tm >= count:
        return
    shared = head // (lse.shape[lse.ndim - 2] // k.shape[1])
    query, g = load_rows(queries, batch, head, i, tm, width), load_rows(above, batch, head, i, tm, width)
    log_sum = load_numbers(sequence_of(lse, starts, batch), batch, head, i, tm)[:, None]
    product = load_numbers(sequence_of(delta, starts, batch), batch, head, i, tm)[:, None]
    row = numbers(i * tm + length - count, tm)[:, None]
    total = tw.zeros((tm, width), wide(q.dtype))
    first, last = key_tiles(i, tm, tn, length, length - count, mask)
    for j in range(first, last):
        key, value = load_rows(keys, batch, shared, j, tn, width), load_rows(values, batch, shared, j, tn, width)
        column = j * tn + tw.arange(tn, dtype=tw.int32)[None, :]
        kept = seen(row, column, mask, column < length)
        _, slope = weight_and_slope((query, key), (g, value), log_sum, product, kept, scale, mask)
        total = tw.mma(slope.astype(q.dtype), key, total)
    store_rows(sequence_of(dq, starts, batch), batch, head, i, total * scale)


# ---- one query of each sequence, against keys and values in pages ---------------------------------------------------


@tw.tile_kernel
def attend_pages(q, keys, values, pages, lengths, parts, part_lse, scale, mask: tw.Constant[Mask],
                 group: tw.Constant[int], page: tw.Constant[int], width: tw.Constant[int]):
    """A block takes every num_blocks(0)-th page of a sequence for the heads that share a key head.

    q: (sequences, heads, d), keys, values: (pages, page, key heads, d), pages: (sequences, most), lengths:
    (sequences,), parts: (splits, sequences, heads, d), part_lse: (splits, sequences, heads). `group` is a power of two
    from the heads for each key head on. Grid: (splits, key heads, sequences).
    """
    split, shared, s = tw.bid(0), tw.bid(1), tw.bid(2)
    heads = q.shape[1] // keys.shape[2]
    first, last = shared * heads, (shared + 1) * heads
    query = tw.load(q.slice(1, first, last), (s, 0, 0), (1, group, width), padding_mode=ZERO).reshape((group, width))
    length, dtype = tw.load(lengths, s, ()), wide(q.dtype)
    if mask.negative:
        query, scale = -query, -scale
    top, total = tw.full((group, 1), -math.inf, dtype), tw.zeros((group, 1), dtype)
    acc = tw.zeros((group, width), dtype)
    for j in range(split, tw.cdiv(length, page), tw.num_blocks(0)):
        at = tw.load(pages, (s, j), ()), 0, shared, 0
        key = tw.load(keys, at, (1, page, 1, width), padding_mode=ZERO).reshape((page, width))
        score, factor = scores(query, key, scale, mask, dtype)
        factor = in_twos(factor, dtype)
        column = j * page + tw.arange(page, dtype=tw.int32)[None, :]
        score = tw.where(column < length, score, -math.inf)
        higher = tw.maximum(top, tw.max(score, axis=1, keepdims=True))
        weight, shrink = power(score * factor - higher * factor), power((top - higher) * factor)
        total = total * shrink + tw.sum(weight, axis=1, keepdims=True)
        value = tw.load(values, at, (1, page, 1, width), padding_mode=ZERO).reshape((page, width))
        # The rows behind the length hold what was there before: a weight of 0 times NaN would be NaN.
        value = tw.where(column.reshape((page, 1)) < length, value, tw.zeros((page, width), value.dtype))
        acc = tw.mma(weight.astype(values.dtype), value, acc * shrink)
        top = higher
    share = tw.where(total == 0.0, 0.0, 1.0 / total)
    if mask.cap is None:
        top = top * scale
    store_as(parts.slice(2, first, last), (split, s, 0, 0), (acc * share).reshape((1, 1, group, width)))
    sums = tw.where(total == 0.0, -math.inf, top + tw.log(total))
    tw.store(part_lse.slice(2, first, last), (split, s, 0), sums.reshape((1, 1, group)))


@tw.tile_kernel
def combine_parts(parts, part_lse, out, lse, splits: tw.Constant[int], width: tw.Constant[int]):
    """Results of parts of the keys, weighted by their sums. parts: (parts, sequences, heads, d), part_lse without d."""
    s, head = tw.bid(0), tw.bid(1)
    sums = tw.load(part_lse, (0, s, head), (splits, 1, 1), padding_mode=tw.PaddingMode.NEG_INF).reshape((splits, 1))
    top = tw.max(sums)
    base = tw.where(top == -math.inf, 0.0, top)
    weight = power(in_twos(sums - base, sums.dtype))
    total = tw.sum(weight)
    part = tw.load(parts, (0, s, head, 0), (splits, 1, 1, width), padding_mode=ZERO).reshape((splits, width))
    share = tw.where(total == 0.0, 0.0, 1.0 / total)
    store_as(out, (s, head, 0), (tw.sum(part * weight, axis=0) * share).reshape((1, 1, width)))
    tw.store(lse, (s, head), tw.where(total == 0.0, -math.inf, base + tw.log(total)).reshape((1, 1)))
