"""Kernels for arrays that have no fixed address: lists, slices with bounds from memory, loads in while loops."""

import tilewright as tw

ZERO = tw.PaddingMode.ZERO


@tw.tile_kernel
def grouped(left, right, out, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """out[g] = left[g] @ right[g], the tiles of all products shared out among the blocks."""
    number = tw.bid(0)
    before = 0
    for g in range(len(left)):
        a, b, c = left[g], right[g], out[g]
        columns = tw.cdiv(b.shape[1], tn)
        tiles = tw.cdiv(a.shape[0], tm) * columns
        while number < before + tiles:
            i, j = (number - before) // columns, (number - before) % columns
            acc = tw.zeros((tm, tn), tw.float32)
            for k in range(tw.cdiv(a.shape[1], tk)):
                ta = tw.load(a, (i, k), (tm, tk), padding_mode=ZERO)
                acc = tw.mma(ta, tw.load(b, (k, j), (tk, tn), padding_mode=ZERO), acc)
            tw.store(c, (i, j), acc.astype(c.dtype))
            number += tw.num_blocks(0)
        before += tiles


@tw.tile_kernel
def summed_groups(left, right, out, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """out = sum of left[g] @ right[g], one step of k each: every iteration of the loop takes other arrays."""
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((tm, tn), tw.float32)
    for g in range(len(left)):
        ta = tw.load(left[g], (i, 0), (tm, tk), padding_mode=ZERO)
        acc = tw.mma(ta, tw.load(right[g], (0, j), (tk, tn), padding_mode=ZERO), acc)
    tw.store(out, (i, j), acc)


@tw.tile_kernel
def ragged(x, w, starts, y, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """y[s:e] = x[s:e] @ w[g] for s, e = starts[g], starts[g + 1]: rows packed one group after the other."""
    g, j = tw.bid(1), tw.bid(0)
    first, last = tw.load(starts, g, ()), tw.load(starts, g + 1, ())
    rows, out = x.slice(0, first, last), y.slice(0, first, last)
    for i in range(tw.cdiv(last - first, tm)):
        acc = tw.zeros((tm, tn), tw.float32)
        for k in range(tw.cdiv(x.shape[1], tk)):
            ta = tw.load(rows, (i, k), (tm, tk), padding_mode=ZERO)
            tb = tw.load(w, (g, k, j), (1, tk, tn), padding_mode=ZERO).reshape((tk, tn))
            acc = tw.mma(ta, tb, acc)
        tw.store(out, (i, j), acc.astype(y.dtype))


@tw.tile_kernel
def parts_of_entries(xs, w, bounds, y, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """y[g] = xs[g][s:e][1:] @ w for the g-th s, e: slices of slices of what a list holds."""
    g, j = tw.bid(1), tw.bid(0)
    first, last = tw.load(bounds, (g, 0), ()), tw.load(bounds, (g, 1), ())
    rows = xs[g].slice(0, first, last).slice(0, 1, last - first)
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.cdiv(w.shape[0], tk)):
        ta = tw.load(rows, (0, k), (tm, tk), padding_mode=ZERO)
        acc = tw.mma(ta, tw.load(w, (k, j), (tk, tn), padding_mode=ZERO), acc)
    tw.store(y, (g, 0, j), acc.reshape((1, tm, tn)))


@tw.tile_kernel
def packed_attention(q, k, v, starts, out, tm: tw.Constant[int], tn: tw.Constant[int], d: tw.Constant[int]):
    """Softmax attention of each sequence to itself; the sequences are packed one after the other."""
    i, s = tw.bid(0), tw.bid(1)
    first, last = tw.load(starts, s, ()), tw.load(starts, s + 1, ())
    qs, ks = q.slice(0, first, last), k.slice(0, first, last)
    vs, result = v.slice(0, first, last), out.slice(0, first, last)
    query = tw.load(qs, (i, 0), (tm, d), padding_mode=ZERO)
    top = tw.full((tm, 1), -1e30, tw.float32)
    total = tw.zeros((tm, 1), tw.float32)
    acc = tw.zeros((tm, d), tw.float32)
    for j in range(tw.cdiv(last - first, tn)):
        keys = tw.transpose(tw.load(ks, (j, 0), (tn, d), padding_mode=ZERO))
        scores = tw.mma(query, keys, tw.zeros((tm, tn), tw.float32))
        inside = j * tn + tw.arange(tn, dtype=tw.int32)[None, :] < last - first
        scores = tw.where(inside, scores, -1e30)
        higher = tw.maximum(top, tw.max(scores, axis=1, keepdims=True))
        weights, shrink = tw.exp(scores - higher), tw.exp(top - higher)
        total = total * shrink + tw.sum(weights, axis=1, keepdims=True)
        acc = tw.mma(weights.astype(v.dtype), tw.load(vs, (j, 0), (tn, d), padding_mode=ZERO), acc * shrink)
        top = higher
    tw.store(result, (i, 0), (acc / total).astype(out.dtype))


@tw.tile_kernel
def paged(a, pages, table, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """c = a @ the matrix whose rows lie in pages of tk rows; a table says in which, and how many there are."""
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.load(table, 0, ())):
        page = tw.load(table, k + 1, ())
        tb = tw.load(pages, (page, 0, j), (1, tk, tn), padding_mode=ZERO).reshape((tk, tn))
        acc = tw.mma(tw.load(a, (i, k), (tm, tk), padding_mode=ZERO), tb, acc)
    tw.store(c, (i, j), acc)


@tw.tile_kernel
def counted_down(a, b, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """c = a @ b, the steps of k from the last to the first in a while loop."""
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((tm, tn), tw.float32)
    k = tw.cdiv(a.shape[1], tk)
    while k > 0:
        k -= 1
        ta = tw.load(a, (i, k), (tm, tk), padding_mode=ZERO)
        acc = tw.mma(ta, tw.load(b, (k, j), (tk, tn), padding_mode=ZERO), acc)
    tw.store(c, (i, j), acc)
