"""Attention forward in the words that come first, and with the loop split by hand: what the compiler should even out.

Arguments of each kernel: q, k, v, out: (heads, tokens, d), lse: (heads, tokens), a scale, tiles of tm queries and tn
keys, d. `window`: each query sees so many keys before it (0: all), `cap`: scores go through cap * tanh(score / cap)
(0: they do not). Grid: (tiles of queries, heads). Tensor cores sum products of 8-bit floats up as they do fastest, as
libraries of attention have them do.
"""

import tilewright as tw

ZERO = tw.PaddingMode.ZERO
LOG2_E = 1.4426950408889634
LOWEST = -1e30  # finite, because a window may hide all keys of the first block from a row


def scores(query, k, head, j, scale, tn, cap):
    """The scores of a block of keys."""
    d = query.shape[1]
    key = tw.load(k, (head, j, 0), (1, tn, d), padding_mode=ZERO).reshape((tn, d))
    none = tw.zeros((query.shape[0], tn), tw.float32)
    score = tw.mma(query, key.transpose(), none, use_fast_acc=query.dtype == tw.float8_e4m3fn)
    if cap:
        score = cap * tw.tanh(score * (scale / cap), rounding_mode=tw.RoundingMode.APPROX)
    return score


def advance(state, score, v, head, j, factor, tn, d):
    """One step of the online softmax: (greatest score, sum of weights, weighted sum of values)."""
    top, total, acc = state
    higher = tw.maximum(top, tw.max(score, axis=1, keepdims=True))
    weight = tw.exp2(score * factor - higher * factor, flush_to_zero=True)
    shrink = tw.exp2((top - higher) * factor, flush_to_zero=True)
    total = total * shrink + tw.sum(weight, axis=1, keepdims=True)
    value = tw.load(v, (head, j, 0), (1, tn, d), padding_mode=ZERO).reshape((tn, d))
    fast = v.dtype == tw.float8_e4m3fn
    return higher, total, tw.mma(weight.astype(v.dtype), value, acc * shrink, use_fast_acc=fast)


def hidden(score, row, j, tokens, tn, causal, window):
    """The scores, lowest where a query does not see a key."""
    column = j * tn + tw.arange(tn, dtype=tw.int32)[None, :]
    seen = column < tokens
    if causal:
        seen = seen & (column <= row)
    if window:
        seen = seen & (row - column < window)
    return tw.where(seen, score, LOWEST)


def begin(q, head, i, tm, d):
    """The tile of queries, their numbers, and the state before the first block of keys."""
    query = tw.load(q, (head, i, 0), (1, tm, d), padding_mode=ZERO).reshape((tm, d))
    row = i * tm + tw.arange(tm, dtype=tw.int32)[:, None]
    return query, row, (tw.full((tm, 1), LOWEST, tw.float32), tw.zeros((tm, 1), tw.float32),
                        tw.zeros((tm, d), tw.float32))


def end(state, out, lse, head, i, factor, tm, d):
    top, total, acc = state
    tw.store(out, (head, i, 0), (acc * (1.0 / total)).astype(out.dtype).reshape((1, tm, d)))
    tw.store(lse, (head, i), ((top * factor + tw.log2(total)) / LOG2_E).reshape((1, tm)))


def range_of_blocks(i, tokens, tm, tn, causal, window):
    """The first block of keys that any query of a tile sees, and the end of these blocks."""
    first = max(i * tm - window + 1, 0) // tn if window else 0
    return first, tw.cdiv(min((i + 1) * tm, tokens) if causal else tokens, tn)


def unmasked_range(i, tokens, tm, tn, causal, window):
    """The blocks of which every query sees every key: the first, and the end."""
    first = tw.cdiv(max((i + 1) * tm - window, 0), tn) if window else 0
    return first, min(i * tm + 1 if causal else tokens, tokens) // tn


@tw.tile_kernel
def by_where(q, k, v, out, lse, scale: float, tm: tw.Constant[int], tn: tw.Constant[int], d: tw.Constant[int],
             causal: tw.Constant[bool], window: tw.Constant[int], cap: tw.Constant[float]):
    """The mask is a `where` in every iteration."""
    head, tokens = tw.bid(1), k.shape[1]
    i = tw.num_blocks(0) - 1 - tw.bid(0) if causal else tw.bid(0)
    query, row, state = begin(q, head, i, tm, d)
    factor = LOG2_E if cap else scale * LOG2_E
    first, last = range_of_blocks(i, tokens, tm, tn, causal, window)
    for j in range(first, last):
        score = scores(query, k, head, j, scale, tn, cap)
        score = hidden(score, row, j, tokens, tn, causal, window)
        state = advance(state, score, v, head, j, factor, tn, d)
    end(state, out, lse, head, i, factor, tm, d)


@tw.tile_kernel
def by_branch(q, k, v, out, lse, scale: float, tm: tw.Constant[int], tn: tw.Constant[int], d: tw.Constant[int],
              causal: tw.Constant[bool], window: tw.Constant[int], cap: tw.Constant[float]):
    """A branch in the loop passes the mask by."""
    head, tokens = tw.bid(1), k.shape[1]
    i = tw.num_blocks(0) - 1 - tw.bid(0) if causal else tw.bid(0)
    query, row, state = begin(q, head, i, tm, d)
    factor = LOG2_E if cap else scale * LOG2_E
    first, last = range_of_blocks(i, tokens, tm, tn, causal, window)
    start, stop = unmasked_range(i, tokens, tm, tn, causal, window)
    for j in range(first, last):
        score = scores(query, k, head, j, scale, tn, cap)
        if window and j < start:
            score = hidden(score, row, j, tokens, tn, causal, window)
        if j >= stop:
            score = hidden(score, row, j, tokens, tn, causal, window)
        state = advance(state, score, v, head, j, factor, tn, d)
    end(state, out, lse, head, i, factor, tm, d)


@tw.tile_kernel
def by_loops(q, k, v, out, lse, scale: float, tm: tw.Constant[int], tn: tw.Constant[int], d: tw.Constant[int],
             causal: tw.Constant[bool], window: tw.Constant[int], cap: tw.Constant[float]):
    """The loop is split by hand: blocks without a mask have one of their own."""
    head, tokens = tw.bid(1), k.shape[1]
    i = tw.num_blocks(0) - 1 - tw.bid(0) if causal else tw.bid(0)
    query, row, state = begin(q, head, i, tm, d)
    factor = LOG2_E if cap else scale * LOG2_E
    first, last = range_of_blocks(i, tokens, tm, tn, causal, window)
    start, stop = unmasked_range(i, tokens, tm, tn, causal, window)
    if window:
        start = max(first, min(start, last))
        stop = max(start, stop)
        for j in range(first, start):
            score = scores(query, k, head, j, scale, tn, cap)
            score = hidden(score, row, j, tokens, tn, causal, window)
            state = advance(state, score, v, head, j, factor, tn, d)
    for j in range(start, stop):
        score = scores(query, k, head, j, scale, tn, cap)
        state = advance(state, score, v, head, j, factor, tn, d)
    for j in range(stop, last):
        score = scores(query, k, head, j, scale, tn, cap)
        score = hidden(score, row, j, tokens, tn, causal, window)
        state = advance(state, score, v, head, j, factor, tn, d)
    end(state, out, lse, head, i, factor, tm, d)
