"""Kernels that only the benchmarks use."""

import math

import tilewright as tw

ZERO = tw.PaddingMode.ZERO


def grouped(block, rows, columns, group):
    """The output tile of a block: blocks that run together share rows of a and columns of b (`group` rows of tiles)."""
    first = block // (group * columns) * group
    height = min(rows - first, group)
    inside = block % (group * columns)
    return first + inside % height, inside // height


def product(a, b, i, j, tm, tn, tk, tf32, fast=False):
    """Tile (i, j) of a @ b in float32; `fast`: 8-bit floats with the tensor cores' own accumulation."""
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.num_tiles(a, 1, (tm, tk))):
        ta = tw.load(a, (i, k), (tm, tk), padding_mode=ZERO)
        tb = tw.load(b, (k, j), (tk, tn), padding_mode=ZERO)
        if tf32:
            ta, tb = ta.astype(tw.tfloat32), tb.astype(tw.tfloat32)
        acc = tw.mma(ta, tb, acc, use_fast_acc=fast)
    return acc


@tw.tile_kernel
def matmul(a, b, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int], group: tw.Constant[int],
           tf32: tw.Constant[bool]):
    """c = a @ b, a tile of c for each block."""
    i, j = grouped(tw.bid(0), tw.cdiv(a.shape[0], tm), tw.cdiv(b.shape[1], tn), group)
    tw.store(c, (i, j), product(a, b, i, j, tm, tn, tk, tf32).astype(c.dtype))


@tw.tile_kernel
def persistent_matmul(a, b, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int],
                      group: tw.Constant[int], tf32: tw.Constant[bool]):
    """c = a @ b, each block walks over tiles of c."""
    rows, columns = tw.cdiv(a.shape[0], tm), tw.cdiv(b.shape[1], tn)
    for tile in range(tw.bid(0), rows * columns, tw.num_blocks(0)):
        i, j = grouped(tile, rows, columns, group)
        tw.store(c, (i, j), product(a, b, i, j, tm, tn, tk, tf32).astype(c.dtype))


@tw.tile_kernel
def matmul8(a, b, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int], group: tw.Constant[int],
            fast: tw.Constant[bool]):
    """c = a @ b of 8-bit floats, each block walks over tiles of c."""
    rows, columns = tw.cdiv(a.shape[0], tm), tw.cdiv(b.shape[1], tn)
    for tile in range(tw.bid(0), rows * columns, tw.num_blocks(0)):
        i, j = grouped(tile, rows, columns, group)
        tw.store(c, (i, j), product(a, b, i, j, tm, tn, tk, False, fast).astype(c.dtype))


@tw.tile_kernel
def batched_matmul(a, b, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """c[n] = a[n] @ b[n], each block walks over tiles of c."""
    rows, columns = tw.cdiv(a.shape[1], tm), tw.cdiv(b.shape[2], tn)
    for tile in range(tw.bid(0), a.shape[0] * rows * columns, tw.num_blocks(0)):
        n, i, j = tile // (rows * columns), tile // columns % rows, tile % columns
        acc = tw.zeros((tm, tn), tw.float32)
        for k in range(tw.num_tiles(a, 2, (1, tm, tk))):
            ta = tw.load(a, (n, i, k), (1, tm, tk), padding_mode=ZERO).reshape((tm, tk))
            tb = tw.load(b, (n, k, j), (1, tk, tn), padding_mode=ZERO).reshape((tk, tn))
            acc = tw.mma(ta, tb, acc)
        tw.store(c, (n, i, j), acc.astype(c.dtype).reshape((1, tm, tn)))


def quotient(x, y):
    """x / y by one approximate reciprocal, as fast kernels do."""
    return tw.truediv(x, y, rounding_mode=tw.RoundingMode.APPROX, flush_to_zero=True)


@tw.tile_kernel
def linear_gelu(a, b, bias, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int],
                group: tw.Constant[int]):
    """c = gelu(a @ b + bias), the tanh form."""
    i, j = grouped(tw.bid(0), tw.cdiv(a.shape[0], tm), tw.cdiv(b.shape[1], tn), group)
    tw.store(c, (i, j), gelu_tile(a, b, bias, i, j, tm, tn, tk).astype(c.dtype))


def gelu_tile(a, b, bias, i, j, tm, tn, tk):
    """Tile (i, j) of gelu(a @ b + bias)."""
    x = product(a, b, i, j, tm, tn, tk, False)
    x = x + tw.load(bias, (j,), (tn,), padding_mode=ZERO).astype(tw.float32)[None, :]
    # 0.5 (1 + tanh y) = 1 / (1 + exp(-2 y)), with the factor log2(e) of exp2 in the constants
    y = x * (2.302208198 + 0.1029432397 * x * x)
    return quotient(x, 1.0 + tw.exp2(-y, flush_to_zero=True))


@tw.tile_kernel
def persistent_linear_gelu(a, b, bias, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int],
                           group: tw.Constant[int], by_tma: tw.Constant[bool]):
    """The same, each block walks over tiles of c; with stores by TMA or by threads."""
    rows, columns = tw.cdiv(a.shape[0], tm), tw.cdiv(b.shape[1], tn)
    for tile in range(tw.bid(0), rows * columns, tw.num_blocks(0)):
        i, j = grouped(tile, rows, columns, group)
        t = gelu_tile(a, b, bias, i, j, tm, tn, tk)
        tw.store(c, (i, j), t.astype(c.dtype), allow_tma=by_tma)


@tw.tile_kernel
def gated(a, b, g, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int], group: tw.Constant[int]):
    """c = (a @ b) * sigmoid(a @ g)."""
    i, j = grouped(tw.bid(0), tw.cdiv(a.shape[0], tm), tw.cdiv(b.shape[1], tn), group)
    up, gate = tw.zeros((tm, tn), tw.float32), tw.zeros((tm, tn), tw.float32)
    for k in range(tw.num_tiles(a, 1, (tm, tk))):
        ta = tw.load(a, (i, k), (tm, tk), padding_mode=ZERO)
        up = tw.mma(ta, tw.load(b, (k, j), (tk, tn), padding_mode=ZERO), up)
        gate = tw.mma(ta, tw.load(g, (k, j), (tk, tn), padding_mode=ZERO), gate)
    tw.store(c, (i, j), quotient(up, 1.0 + tw.exp2(gate * -LOG2_E, flush_to_zero=True)).astype(c.dtype))


@tw.tile_kernel
def dequantised_matmul(a, scales, b, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int],
                       group: tw.Constant[int]):
    """c = (a * scales[:, None]) @ b with int8 a and one scale for each of its rows."""
    i, j = grouped(tw.bid(0), tw.cdiv(a.shape[0], tm), tw.cdiv(b.shape[1], tn), group)
    scale = tw.load(scales, (i,), (tm,), padding_mode=ZERO)[:, None]
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.num_tiles(a, 1, (tm, tk))):
        ta = (tw.load(a, (i, k), (tm, tk), padding_mode=ZERO).astype(tw.float32) * scale).astype(b.dtype)
        acc = tw.mma(ta, tw.load(b, (k, j), (tk, tn), padding_mode=ZERO), acc)
    tw.store(c, (i, j), acc.astype(c.dtype))


@tw.tile_kernel
def gathered_matmul(a, table, rows, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int],
                    group: tw.Constant[int]):
    """c = a @ table[rows] with rows an array of indices."""
    i, j = grouped(tw.bid(0), tw.cdiv(a.shape[0], tm), tw.cdiv(table.shape[1], tn), group)
    acc = tw.zeros((tm, tn), tw.float32)
    column = j * tn + tw.arange(tn, dtype=tw.int32)[None, :]
    for k in range(tw.num_tiles(a, 1, (tm, tk))):
        row = tw.load(rows, (k,), (tk,), padding_mode=ZERO)[:, None]
        acc = tw.mma(tw.load(a, (i, k), (tm, tk), padding_mode=ZERO), tw.gather(table, (row, column)), acc)
    tw.store(c, (i, j), acc.astype(c.dtype))


@tw.tile_kernel
def chained(a, b, d, c, tm: tw.Constant[int], n: tw.Constant[int], tk: tw.Constant[int], tn: tw.Constant[int]):
    """c = relu(a @ b) @ d; the middle result, n columns wide, stays in the block."""
    i, j = tw.bid(0), tw.bid(1)
    middle = tw.zeros((tm, n), tw.float32)
    for k in range(tw.num_tiles(a, 1, (tm, tk))):
        middle = tw.mma(tw.load(a, (i, k), (tm, tk), padding_mode=ZERO),
                        tw.load(b, (k, 0), (tk, n), padding_mode=ZERO), middle)
    middle = tw.maximum(middle, 0.0).astype(d.dtype)
    out = tw.mma(middle, tw.load(d, (0, j), (n, tn), padding_mode=ZERO), tw.zeros((tm, tn), tw.float32))
    tw.store(c, (i, j), out.astype(c.dtype))


LOG2_E = 1.4426950408889634


@tw.tile_kernel
def attention(q, k, v, out, scale: float, tm: tw.Constant[int], tn: tw.Constant[int], d: tw.Constant[int],
              causal: tw.Constant[bool]):
    """softmax(q k^T * scale) v by blocks of keys. q, k, v, out: (heads, tokens, d). Grid: (tiles of queries, heads)."""
    head, tokens = tw.bid(1), k.shape[1]
    i = tw.num_blocks(0) - 1 - tw.bid(0) if causal else tw.bid(0)  # the longest first
    query = tw.load(q, (head, i, 0), (1, tm, d), padding_mode=tw.PaddingMode.ZERO).reshape((tm, d))
    row = i * tm + tw.arange(tm, dtype=tw.int32)[:, None]
    top = tw.full((tm, 1), -math.inf, tw.float32)
    total = tw.zeros((tm, 1), tw.float32)
    acc = tw.zeros((tm, d), tw.float32)
    last = tw.cdiv(min((i + 1) * tm, tokens) if causal else tokens, tn)
    whole = min(i * tm if causal else tokens, tokens) // tn  # blocks of which no row leaves out any key
    for j in range(whole):
        top, total, acc = block_of_keys(query, k, v, head, j, row, scale, tn, False, causal, top, total, acc)
    for j in range(whole, last):
        top, total, acc = block_of_keys(query, k, v, head, j, row, scale, tn, True, causal, top, total, acc)
    tw.store(out, (head, i, 0), (acc * (1.0 / total)).astype(out.dtype).reshape((1, tm, d)))


def block_of_keys(query, k, v, head, j, row, scale, tn, masked, causal, top, total, acc):
    """One step of the online softmax: (greatest score, sum of weights, weighted sum of values)."""
    d = query.shape[1]
    key = tw.load(k, (head, j, 0), (1, tn, d), padding_mode=tw.PaddingMode.ZERO).reshape((tn, d))
    score = tw.mma(query, key.transpose(), tw.zeros((query.shape[0], tn), tw.float32))
    factor = scale * LOG2_E  # above zero, so that the greatest score stays the greatest
    if masked:
        column = j * tn + tw.arange(tn, dtype=tw.int32)[None, :]
        kept = column < k.shape[1]
        if causal:
            kept = kept & (column <= row)
        score = tw.where(kept, score, -math.inf)
    higher = tw.maximum(top, tw.max(score, axis=1, keepdims=True))
    weight = tw.exp2(score * factor - higher * factor, flush_to_zero=True)
    shrink = tw.exp2((top - higher) * factor, flush_to_zero=True)
    total = total * shrink + tw.sum(weight, axis=1, keepdims=True)
    value = tw.load(v, (head, j, 0), (1, tn, d), padding_mode=tw.PaddingMode.ZERO).reshape((tn, d))
    acc = tw.mma(weight.astype(v.dtype), value, acc * shrink)
    return higher, total, acc


@tw.tile_kernel
def plain_matmul8(a, b, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int], group: tw.Constant[int],
                  fast: tw.Constant[bool]):
    """c = a @ b of 8-bit floats, a tile of c for each block."""
    i, j = grouped(tw.bid(0), tw.cdiv(a.shape[0], tm), tw.cdiv(b.shape[1], tn), group)
    tw.store(c, (i, j), product(a, b, i, j, tm, tn, tk, False, fast).astype(c.dtype))


@tw.tile_kernel
def plain_matmul(a, b, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int], tf32: tw.Constant[bool]):
    """c = a @ b, a tile of c for each block of a grid of two axes."""
    i, j = tw.bid(0), tw.bid(1)
    tw.store(c, (i, j), product(a, b, i, j, tm, tn, tk, tf32).astype(c.dtype))
