"""Kernels whose products are large enough for warpgroups, in every shape that rings and roles have to follow."""

import math

import tilewright as tw

ZERO = tw.PaddingMode.ZERO
LOG2_E = math.log2(math.e)


@tw.tile_kernel
def product(a, b, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """Sums in the format of c."""
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((tm, tn), c.dtype)
    for k in range(tw.num_tiles(a, 1, (tm, tk))):
        ta = tw.load(a, (i, k), (tm, tk), padding_mode=ZERO)
        acc = tw.mma(ta, tw.load(b, (k, j), (tk, tn), padding_mode=ZERO), acc)
    tw.store(c, (i, j), acc)


@tw.tile_kernel
def tf32_product(a, b, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.num_tiles(a, 1, (tm, tk))):
        ta = tw.load(a, (i, k), (tm, tk), padding_mode=ZERO).astype(tw.tfloat32)
        acc = tw.mma(ta, tw.load(b, (k, j), (tk, tn), padding_mode=ZERO).astype(tw.tfloat32), acc)
    tw.store(c, (i, j), acc)


@tw.tile_kernel
def doubled_tf32(a, b, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """c = (a + a) @ (b + b) in tfloat32: both operands are computed."""
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.num_tiles(a, 1, (tm, tk))):
        ta = tw.load(a, (i, k), (tm, tk), padding_mode=ZERO)
        tb = tw.load(b, (k, j), (tk, tn), padding_mode=ZERO)
        acc = tw.mma((ta + ta).astype(tw.tfloat32), (tb + tb).astype(tw.tfloat32), acc)
    tw.store(c, (i, j), acc)


@tw.tile_kernel
def walked(a, b, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """Each block walks over tiles of c."""
    rows, columns = tw.cdiv(a.shape[0], tm), tw.cdiv(b.shape[1], tn)
    for tile in range(tw.bid(0), rows * columns, tw.num_blocks(0)):
        i, j = tile // columns, tile % columns
        acc = tw.zeros((tm, tn), tw.float32)
        for k in range(tw.num_tiles(a, 1, (tm, tk))):
            ta = tw.load(a, (i, k), (tm, tk), padding_mode=ZERO)
            acc = tw.mma(ta, tw.load(b, (k, j), (tk, tn), padding_mode=ZERO), acc)
        tw.store(c, (i, j), acc.astype(c.dtype))


@tw.tile_kernel
def walked_turned(a, b, c, d, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """c = a @ b and d = (a @ b).T; each block walks over tiles."""
    columns = tw.cdiv(c.shape[1], tn)
    for t in range(tw.bid(0), columns * tw.cdiv(c.shape[0], tm), tw.num_blocks(0)):
        i, j = t // columns, t % columns
        acc = tw.zeros((tm, tn), dtype=tw.float32)
        for k in range(tw.cdiv(a.shape[1], tk)):
            left = tw.load(a, (i, k), (tm, tk), padding_mode=ZERO)
            acc = tw.mma(left, tw.load(b, (k, j), (tk, tn), padding_mode=ZERO), acc)
        tw.store(c, (i, j), acc.astype(c.dtype))
        tw.store(d, (j, i), tw.transpose(acc.astype(d.dtype)))


@tw.tile_kernel
def stored_each_round(a, b, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """c = a @ b; what the rounds before the last one store is overwritten."""
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((tm, tn), dtype=tw.float32)
    for k in range(tw.cdiv(a.shape[1], tk)):
        left = tw.load(a, (i, k), (tm, tk), padding_mode=ZERO)
        acc = tw.mma(left, tw.load(b, (k, j), (tk, tn), padding_mode=ZERO), acc)
        tw.store(c, (i, j), acc.astype(c.dtype))


@tw.tile_kernel
def batched(a, b, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """Tiles of three axes."""
    n, i, j = tw.bid(2), tw.bid(0), tw.bid(1)
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.num_tiles(a, 2, (1, tm, tk))):
        ta = tw.load(a, (n, i, k), (1, tm, tk), padding_mode=ZERO).reshape((tm, tk))
        tb = tw.load(b, (n, k, j), (1, tk, tn), padding_mode=ZERO).reshape((tk, tn))
        acc = tw.mma(ta, tb, acc)
    tw.store(c, (n, i, j), acc.reshape((1, tm, tn)))


@tw.tile_kernel
def dequantised(a, scales, b, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """c = (a * scales[:, None]) @ b: A is computed, and stays in registers."""
    i, j = tw.bid(0), tw.bid(1)
    scale = tw.load(scales, (i,), (tm,), padding_mode=ZERO)[:, None]
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.num_tiles(a, 1, (tm, tk))):
        ta = (tw.load(a, (i, k), (tm, tk), padding_mode=ZERO).astype(tw.float32) * scale).astype(b.dtype)
        acc = tw.mma(ta, tw.load(b, (k, j), (tk, tn), padding_mode=ZERO), acc)
    tw.store(c, (i, j), acc)


@tw.tile_kernel
def dequantised_right(a, b, scales, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """c = a @ (b * scales): B is computed, as the transpose's A."""
    i, j = tw.bid(0), tw.bid(1)
    scale = tw.load(scales, (j,), (tn,), padding_mode=ZERO)[None, :]
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.num_tiles(a, 1, (tm, tk))):
        tb = (tw.load(b, (k, j), (tk, tn), padding_mode=ZERO).astype(tw.float32) * scale).astype(a.dtype)
        acc = tw.mma(tw.load(a, (i, k), (tm, tk), padding_mode=ZERO), tb, acc)
    tw.store(c, (i, j), acc)


@tw.tile_kernel
def scaled_parts(a, b, scales, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """c = sum of scales[k] * (a[:, k] @ b[k]): the scales of a part of K, a few bytes, come with its operands."""
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.num_tiles(a, 1, (tm, tk))):
        part = tw.mma(tw.load(a, (i, k), (tm, tk), padding_mode=ZERO), tw.load(b, (k, j), (tk, tn), padding_mode=ZERO),
                      tw.zeros((tm, tn), tw.float32))
        acc += part * tw.load(scales, (k, j), (1, tn), padding_mode=ZERO)
    tw.store(c, (i, j), acc)


@tw.tile_kernel
def gathered(a, table, rows, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """c = a @ table[rows]: the producer cannot know where B is."""
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((tm, tn), tw.float32)
    column = j * tn + tw.arange(tn, dtype=tw.int32)[None, :]
    for k in range(tw.num_tiles(a, 1, (tm, tk))):
        row = tw.load(rows, (k,), (tk,), padding_mode=ZERO)[:, None]
        acc = tw.mma(tw.load(a, (i, k), (tm, tk), padding_mode=ZERO), tw.gather(table, (row, column)), acc)
    tw.store(c, (i, j), acc)


@tw.tile_kernel
def gated(a, b, g, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """c = (a @ b) * relu(a @ g): two products of a round share A."""
    i, j = tw.bid(0), tw.bid(1)
    up, gate = tw.zeros((tm, tn), tw.float32), tw.zeros((tm, tn), tw.float32)
    for k in range(tw.num_tiles(a, 1, (tm, tk))):
        ta = tw.load(a, (i, k), (tm, tk), padding_mode=ZERO)
        up = tw.mma(ta, tw.load(b, (k, j), (tk, tn), padding_mode=ZERO), up)
        gate = tw.mma(ta, tw.load(g, (k, j), (tk, tn), padding_mode=ZERO), gate)
    tw.store(c, (i, j), up * tw.maximum(gate, 0.0))


@tw.tile_kernel
def chained(a, b, d, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """c = relu(a @ b) @ d by blocks of tn columns of b; the middle result is A of the second product."""
    i = tw.bid(0)
    out = tw.zeros((tm, tk), tw.float32)
    for j in range(tw.num_tiles(b, 1, (tk, tn))):
        middle = tw.zeros((tm, tn), tw.float32)
        for k in range(tw.num_tiles(a, 1, (tm, tk))):
            middle = tw.mma(tw.load(a, (i, k), (tm, tk), padding_mode=ZERO),
                            tw.load(b, (k, j), (tk, tn), padding_mode=ZERO), middle)
        hidden = tw.maximum(middle, 0.0).astype(d.dtype)
        out = tw.mma(hidden, tw.load(d, (j, 0), (tn, tk), padding_mode=ZERO), out)
    tw.store(c, (i, 0), out)


@tw.tile_kernel
def attention(q, k, v, out, scale: float, tm: tw.Constant[int], tn: tw.Constant[int], d: tw.Constant[int],
              causal: tw.Constant[bool]):
    """softmax(q k^T * scale) v for one head. Two loops, of whole blocks of keys and of those cut off, share rings."""
    i, tokens = tw.bid(0), k.shape[0]
    query = tw.load(q, (i, 0), (tm, d), padding_mode=ZERO)
    row = i * tm + tw.arange(tm, dtype=tw.int32)[:, None]
    top = tw.full((tm, 1), -math.inf, tw.float32)
    total = tw.zeros((tm, 1), tw.float32)
    acc = tw.zeros((tm, d), tw.float32)
    last = tw.cdiv(min((i + 1) * tm, tokens) if causal else tokens, tn)
    whole = min(i * tm if causal else tokens, tokens) // tn
    for j in range(whole):
        top, total, acc = block_of_keys(query, k, v, j, row, scale, tn, False, causal, top, total, acc)
    for j in range(whole, last):
        top, total, acc = block_of_keys(query, k, v, j, row, scale, tn, True, causal, top, total, acc)
    tw.store(out, (i, 0), (acc / total).astype(out.dtype))


def block_of_keys(query, k, v, j, row, scale, tn, masked, causal, top, total, acc):
    """One step of the online softmax."""
    d = query.shape[1]
    key = tw.load(k, (j, 0), (tn, d), padding_mode=ZERO)
    score = tw.mma(query, key.transpose(), tw.zeros((query.shape[0], tn), tw.float32)) * (scale * LOG2_E)
    if masked:
        column = j * tn + tw.arange(tn, dtype=tw.int32)[None, :]
        kept = column < k.shape[0]
        if causal:
            kept = kept & (column <= row)
        score = tw.where(kept, score, -math.inf)
    higher = tw.maximum(top, tw.max(score, axis=1, keepdims=True))
    weight = tw.exp2(score - higher)
    shrink = tw.exp2(top - higher)
    total = total * shrink + tw.sum(weight, axis=1, keepdims=True)
    value = tw.load(v, (j, 0), (tn, d), padding_mode=ZERO)
    return higher, total, tw.mma(weight.astype(v.dtype), value, acc * shrink)


@tw.tile_kernel
def in_branches(a, b, skip, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """Blocks with skip[i] != 0 leave c; the others add the even rounds, then the odd ones, which hide in a branch."""
    i, j = tw.bid(0), tw.bid(1)
    if tw.load(skip, i, ()) == 0:
        acc = tw.zeros((tm, tn), tw.float32)
        for k in range(0, tw.num_tiles(a, 1, (tm, tk)), 2):
            ta = tw.load(a, (i, k), (tm, tk), padding_mode=ZERO)
            acc = tw.mma(ta, tw.load(b, (k, j), (tk, tn), padding_mode=ZERO), acc)
        for k in range(tw.num_tiles(a, 1, (tm, tk))):
            if k % 2 == 1:
                ta = tw.load(a, (i, k), (tm, tk), padding_mode=ZERO)
                acc = tw.mma(ta, tw.load(b, (k, j), (tk, tn), padding_mode=ZERO), acc)
        tw.store(c, (i, j), acc)


@tw.tile_kernel
def some_rounds(a, b, rounds, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """Block (i, j) adds only rounds[i] products; 0 is possible. c starts as the sum."""
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.load(c, (i, j), (tm, tn), padding_mode=ZERO)
    for k in range(tw.load(rounds, i, ())):
        ta = tw.load(a, (i, k), (tm, tk), padding_mode=ZERO)
        acc = tw.mma(ta, tw.load(b, (k, j), (tk, tn), padding_mode=ZERO), acc)
    tw.store(c, (i, j), acc)


@tw.tile_kernel
def until_large(a, b, limit: float, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """A loop that ends when a sum is large: how often, only the consumers know."""
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((tm, tn), tw.float32)
    k = 0
    while k < tw.num_tiles(a, 1, (tm, tk)) and tw.max(acc) < limit:
        ta = tw.load(a, (i, k), (tm, tk), padding_mode=ZERO)
        acc = tw.mma(ta, tw.load(b, (k, j), (tk, tn), padding_mode=ZERO), acc)
        k += 1
    tw.store(c, (i, j), acc)


@tw.tile_kernel
def hinted(a, b, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int],
           left: tw.Constant[int], right: tw.Constant[int], tma: tw.Constant[bool]):
    """Hints of the loads: how far ahead, and whether by TMA."""
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.num_tiles(a, 1, (tm, tk))):
        ta = tw.load(a, (i, k), (tm, tk), padding_mode=ZERO, latency=left, allow_tma=tma)
        acc = tw.mma(ta, tw.load(b, (k, j), (tk, tn), padding_mode=ZERO, latency=right), acc)
    tw.store(c, (i, j), acc)


@tw.tile_kernel
def padded_with_nan(a, b, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """Rows and columns outside become NaN, and are not stored."""
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.num_tiles(a, 1, (tm, tk))):
        ta = tw.load(a, (i, k), (tm, tk), padding_mode=tw.PaddingMode.NAN)
        acc = tw.mma(ta, tw.load(b, (k, j), (tk, tn), padding_mode=tw.PaddingMode.NAN), acc)
    tw.store(c, (i, j), acc)


@tw.tile_kernel
def sliced(a, b, c, first: int, last: int, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """c = a[:, first:last] @ b[first:last]: the arrays of the loads are no parameters."""
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((tm, tn), tw.float32)
    left, right = a.slice(1, first, last), b.slice(0, first, last)
    for k in range(tw.num_tiles(left, 1, (tm, tk))):
        ta = tw.load(left, (i, k), (tm, tk), padding_mode=ZERO)
        acc = tw.mma(ta, tw.load(right, (k, j), (tk, tn), padding_mode=ZERO), acc)
    tw.store(c, (i, j), acc)


@tw.tile_kernel
def squared(a, sums, c, tm: tw.Constant[int], tk: tw.Constant[int]):
    """c = a @ a^T, sums = sum of a's rows: one tile as an operand and in registers, one array loaded twice."""
    i, j = tw.bid(0), tw.bid(1)
    acc, total = tw.zeros((tm, tm), tw.float32), tw.zeros((tm, 1), tw.float32)
    for k in range(tw.num_tiles(a, 1, (tm, tk))):
        ta = tw.load(a, (i, k), (tm, tk), padding_mode=ZERO)
        total = total + tw.sum(ta.astype(tw.float32), axis=1, keepdims=True)
        acc = tw.mma(ta, tw.load(a, (j, k), (tm, tk), padding_mode=ZERO).transpose(), acc)
    tw.store(c, (i, j), acc)
    tw.store(sums, (i, j), total)


@tw.tile_kernel
def times_constants(a, c, d, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """c = sums of a's rows, d = sums of its columns: one operand of each matrix multiply is a constant."""
    i, j = tw.bid(0), tw.bid(1)
    rows, columns = tw.zeros((tm, tn), tw.float32), tw.zeros((tm, tn), tw.float32)
    for k in range(tw.num_tiles(a, 1, (tm, tk))):
        ta = tw.load(a, (i, k), (tm, tk), padding_mode=ZERO)
        rows = tw.mma(ta, tw.ones((tk, tn), a.dtype), rows)
        columns = tw.mma(tw.ones((tm, tk), a.dtype), tw.load(a, (k, j), (tk, tn), padding_mode=ZERO), columns)
    tw.store(c, (i, j), rows)
    tw.store(d, (i, j), columns)


@tw.tile_kernel
def updated(a, b, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """a doubles, tile by tile: the kernel writes an array that it loads."""
    i = tw.bid(0)
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.num_tiles(a, 1, (tm, tk))):
        ta = tw.load(a, (i, k), (tm, tk), padding_mode=ZERO)
        acc = tw.mma(ta, tw.load(b, (k, 0), (tk, tn), padding_mode=ZERO), acc)
        tw.store(a, (i, k), ta + ta)
    tw.store(c, (i, 0), acc)


@tw.tile_kernel
def running_top(a, b, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """The greatest partial sum: every round's sum is looked at."""
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((tm, tn), tw.float32)
    top = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.num_tiles(a, 1, (tm, tk))):
        ta = tw.load(a, (i, k), (tm, tk), padding_mode=ZERO)
        acc = tw.mma(ta, tw.load(b, (k, j), (tk, tn), padding_mode=ZERO), acc)
        top = tw.maximum(top, acc)
    tw.store(c, (i, j), top)
