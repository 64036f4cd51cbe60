"""The kernels of the sweep, written as a user writes them: nothing in them is made for a tile size or a target."""

import math

import tilewright as tw

ZERO = tw.PaddingMode.ZERO
LOG2E = 1.4426950408889634


@tw.tile_kernel
def attention(q, k, v, out, lse, scale: float, tm: tw.Constant[int], tn: tw.Constant[int], d: tw.Constant[int],
              causal: tw.Constant[bool], capped: tw.Constant[bool], with_lse: tw.Constant[bool]):
    """softmax(q k^T * scale) v. q, k, v, out: (heads, tokens, d); lse: (heads, tokens). Grid: (query tiles, heads).

    `capped`: scores are 30 tanh(score / 30); `with_lse`: the logarithms of the rows' sums are stored too.
    """
    i, head, tokens = tw.bid(0), tw.bid(1), k.shape[1]
    query = tw.load(q, (head, i, 0), (1, tm, d), padding_mode=ZERO).reshape((tm, d))
    row = i * tm + tw.arange(tm, dtype=tw.int32)[:, None]
    top = tw.full((tm, 1), -math.inf, tw.float32)
    total = tw.zeros((tm, 1), tw.float32)
    acc = tw.zeros((tm, d), tw.float32)
    last = tw.cdiv(min((i + 1) * tm, tokens) if causal else tokens, tn)
    for j in range(last):
        key = tw.load(k, (head, j, 0), (1, tn, d), padding_mode=ZERO).reshape((tn, d))
        score = tw.mma(query, key.transpose(), tw.zeros((tm, tn), tw.float32)) * scale
        if capped:
            score = 30.0 * tw.tanh(score / 30.0)
        column = j * tn + tw.arange(tn, dtype=tw.int32)[None, :]
        kept = column < tokens
        if causal:
            kept = kept & (column <= row)
        score = tw.where(kept, score * LOG2E, -math.inf)
        higher = tw.maximum(top, tw.max(score, axis=1, keepdims=True))
        weight = tw.exp2(score - higher)
        shrink = tw.exp2(top - higher)
        total = total * shrink + tw.sum(weight, axis=1, keepdims=True)
        value = tw.load(v, (head, j, 0), (1, tn, d), padding_mode=ZERO).reshape((tn, d))
        acc = tw.mma(weight.astype(v.dtype), value, acc * shrink)
        top = higher
    tw.store(out, (head, i, 0), (acc / total).astype(out.dtype).reshape((1, tm, d)))
    if with_lse:
        tw.store(lse, (head, i), ((top + tw.log2(total)) / LOG2E).reshape((1, tm)))


@tw.tile_kernel
def latent_attention(q, k, out, scale: float, tm: tw.Constant[int], tn: tw.Constant[int], d: tw.Constant[int],
                     dv: tw.Constant[int]):
    """Attention whose values are the first dv columns of its keys, in the order of DeepSeek's latent attention."""
    i, head, tokens = tw.bid(0), tw.bid(1), k.shape[0]
    query = tw.load(q, (head, i, 0), (1, tm, dv), padding_mode=ZERO).reshape((tm, dv))
    rope = tw.load(q, (head, i, dv // (d - dv)), (1, tm, d - dv), padding_mode=ZERO).reshape((tm, d - dv))
    top = tw.full((tm, 1), -math.inf, tw.float32)
    total = tw.zeros((tm, 1), tw.float32)
    acc = tw.zeros((tm, dv), tw.float32)
    for j in range(tw.cdiv(tokens, tn)):
        key = tw.load(k, (j, 0), (tn, dv), padding_mode=ZERO)
        key_rope = tw.load(k, (j, dv // (d - dv)), (tn, d - dv), padding_mode=ZERO)
        score = tw.mma(query, key.transpose(), tw.zeros((tm, tn), tw.float32))
        score = tw.mma(rope, key_rope.transpose(), score) * (scale * LOG2E)
        column = j * tn + tw.arange(tn, dtype=tw.int32)[None, :]
        score = tw.where(column < tokens, score, -math.inf)
        higher = tw.maximum(top, tw.max(score, axis=1, keepdims=True))
        weight = tw.exp2(score - higher)
        shrink = tw.exp2(top - higher)
        total = total * shrink + tw.sum(weight, axis=1, keepdims=True)
        acc = tw.mma(weight.astype(k.dtype), key, acc * shrink)
        top = higher
    tw.store(out, (head, i, 0), (acc / total).astype(out.dtype).reshape((1, tm, dv)))


@tw.tile_kernel
def gemm(a, b, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """c = a @ b, a tile of c for each block."""
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.num_tiles(a, 1, (tm, tk))):
        x = tw.load(a, (i, k), (tm, tk), padding_mode=ZERO)
        y = tw.load(b, (k, j), (tk, tn), padding_mode=ZERO)
        acc = tw.mma(x, y, acc)
    tw.store(c, (i, j), acc.astype(c.dtype))


@tw.tile_kernel
def persistent_gemm(a, b, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """c = a @ b, each block walks over tiles of c."""
    columns = tw.cdiv(b.shape[1], tn)
    for tile in range(tw.bid(0), tw.cdiv(a.shape[0], tm) * columns, tw.num_blocks(0)):
        i, j = tile // columns, tile % columns
        acc = tw.zeros((tm, tn), tw.float32)
        for k in range(tw.num_tiles(a, 1, (tm, tk))):
            x = tw.load(a, (i, k), (tm, tk), padding_mode=ZERO)
            y = tw.load(b, (k, j), (tk, tn), padding_mode=ZERO)
            acc = tw.mma(x, y, acc)
        tw.store(c, (i, j), acc.astype(c.dtype))


@tw.tile_kernel
def grouped_gemm(a, b, first, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """c = a @ b[g] for the rows of group g, which are first[g] to first[g + 1].

    Grid: row tiles, column tiles, groups.
    """
    i, j, g = tw.bid(0), tw.bid(1), tw.bid(2)
    start, stop = tw.gather(first, g), tw.gather(first, g + 1)
    if i * tm >= stop - start:
        return
    rows, out = a.slice(0, start, stop), c.slice(0, start, stop)
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.num_tiles(a, 1, (tm, tk))):
        x = tw.load(rows, (i, k), (tm, tk), padding_mode=ZERO)
        y = tw.load(b, (g, k, j), (1, tk, tn), padding_mode=ZERO).reshape((tk, tn))
        acc = tw.mma(x, y, acc)
    tw.store(out, (i, j), acc.astype(c.dtype))


@tw.tile_kernel
def grouped_gemm_list(left, right, out, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """out[g] = left[g] @ right[g]; each block takes every num_blocks-th tile of the whole list."""
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
                x = tw.load(a, (i, k), (tm, tk), padding_mode=ZERO)
                y = tw.load(b, (k, j), (tk, tn), padding_mode=ZERO)
                acc = tw.mma(x, y, acc)
            tw.store(c, (i, j), acc.astype(c.dtype))
            number += tw.num_blocks(0)
        before += tiles


@tw.tile_kernel
def softmax(x, out, rows: tw.Constant[int], width: tw.Constant[int]):
    """Whole rows, several of them in a block."""
    i = tw.bid(0)
    t = tw.load(x, (i, 0), (rows, width), padding_mode=tw.PaddingMode.NEG_INF).astype(tw.float32)
    e = tw.exp(t - tw.max(t, axis=1, keepdims=True))
    tw.store(out, (i, 0), (e / tw.sum(e, axis=1, keepdims=True)).astype(out.dtype))


@tw.tile_kernel
def persistent_softmax(x, out, rows: tw.Constant[int], width: tw.Constant[int]):
    """The same, each block walks over rows."""
    for i in range(tw.bid(0), tw.cdiv(x.shape[0], rows), tw.num_blocks(0)):
        t = tw.load(x, (i, 0), (rows, width), padding_mode=tw.PaddingMode.NEG_INF).astype(tw.float32)
        e = tw.exp(t - tw.max(t, axis=1, keepdims=True))
        tw.store(out, (i, 0), (e / tw.sum(e, axis=1, keepdims=True)).astype(out.dtype))


@tw.tile_kernel
def chunked_softmax(x, out, rows: tw.Constant[int], width: tw.Constant[int]):
    """Rows of any length: a pass for the maximum and the sum, a pass for the result."""
    i = tw.bid(0)
    top = tw.full((rows, 1), -math.inf, tw.float32)
    total = tw.zeros((rows, 1), tw.float32)
    for j in range(tw.cdiv(x.shape[1], width)):
        t = tw.load(x, (i, j), (rows, width), padding_mode=tw.PaddingMode.NEG_INF).astype(tw.float32)
        higher = tw.maximum(top, tw.max(t, axis=1, keepdims=True))
        total = total * tw.exp(top - higher) + tw.sum(tw.exp(t - higher), axis=1, keepdims=True)
        top = higher
    for j in range(tw.cdiv(x.shape[1], width)):
        t = tw.load(x, (i, j), (rows, width)).astype(tw.float32)
        tw.store(out, (i, j), (tw.exp(t - top) / total).astype(out.dtype))


@tw.tile_kernel
def rms_norm(x, weight, out, rows: tw.Constant[int], width: tw.Constant[int]):
    i = tw.bid(0)
    t = tw.load(x, (i, 0), (rows, width), padding_mode=ZERO).astype(tw.float32)
    w = tw.load(weight, (0,), (width,)).astype(tw.float32)
    scale = tw.rsqrt(tw.sum(t * t, axis=1, keepdims=True) / x.shape[1] + 1e-5)
    tw.store(out, (i, 0), (t * scale * w[None, :]).astype(out.dtype))


@tw.tile_kernel
def layer_norm(x, weight, bias, out, rows: tw.Constant[int], width: tw.Constant[int]):
    i = tw.bid(0)
    t = tw.load(x, (i, 0), (rows, width), padding_mode=ZERO).astype(tw.float32)
    mean = tw.sum(t, axis=1, keepdims=True) / x.shape[1]
    centred = tw.where(tw.arange(width, dtype=tw.int32)[None, :] < x.shape[1], t - mean, 0.0)
    scale = tw.rsqrt(tw.sum(centred * centred, axis=1, keepdims=True) / x.shape[1] + 1e-5)
    w = tw.load(weight, (0,), (width,)).astype(tw.float32)
    b = tw.load(bias, (0,), (width,)).astype(tw.float32)
    tw.store(out, (i, 0), (centred * scale * w[None, :] + b[None, :]).astype(out.dtype))


@tw.tile_kernel
def persistent_layer_norm(x, weight, bias, out, rows: tw.Constant[int], width: tw.Constant[int]):
    """The same, each block walks over rows."""
    w = tw.load(weight, (0,), (width,)).astype(tw.float32)
    b = tw.load(bias, (0,), (width,)).astype(tw.float32)
    for i in range(tw.bid(0), tw.cdiv(x.shape[0], rows), tw.num_blocks(0)):
        t = tw.load(x, (i, 0), (rows, width), padding_mode=ZERO).astype(tw.float32)
        mean = tw.sum(t, axis=1, keepdims=True) / x.shape[1]
        centred = tw.where(tw.arange(width, dtype=tw.int32)[None, :] < x.shape[1], t - mean, 0.0)
        scale = tw.rsqrt(tw.sum(centred * centred, axis=1, keepdims=True) / x.shape[1] + 1e-5)
        tw.store(out, (i, 0), (centred * scale * w[None, :] + b[None, :]).astype(out.dtype))


def random_bits(counter, seed):
    """Uniform numbers in [0, 1) from a counter: Philox-2x32 with seven rounds."""
    left, right, key = counter, tw.zeros(counter.shape, tw.uint32), seed.astype(tw.uint32)
    for _ in range(7):
        product = tw.astype(left, tw.uint64) * 0xD256D193
        left, right = (product >> 32).astype(tw.uint32) ^ key ^ right, product.astype(tw.uint32)
        key += 0x9E3779B9
    return (left >> 8).astype(tw.float32) * 2.0**-24


@tw.tile_kernel
def norm_linear_gelu_dropout(x, gain, shift, w, bias, out, seed, rate: float, tm: tw.Constant[int],
                             tn: tw.Constant[int], tk: tw.Constant[int]):
    """dropout(gelu(layer_norm(x) @ w + bias)) in one kernel."""
    i, j, columns = tw.bid(0), tw.bid(1), x.shape[1]
    chunks = tw.num_tiles(x, 1, (tm, tk))
    total, squares = tw.zeros((tm, 1), tw.float32), tw.zeros((tm, 1), tw.float32)
    for k in range(chunks):
        t = tw.load(x, (i, k), (tm, tk), padding_mode=ZERO).astype(tw.float32)
        total += tw.sum(t, axis=1, keepdims=True)
        squares += tw.sum(t * t, axis=1, keepdims=True)
    mean = total / columns
    scale = tw.rsqrt(squares / columns - mean * mean + 1e-5)
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(chunks):
        t = tw.load(x, (i, k), (tm, tk), padding_mode=ZERO).astype(tw.float32)
        g = tw.load(gain, (k,), (tk,), padding_mode=ZERO).astype(tw.float32)[None, :]
        s = tw.load(shift, (k,), (tk,), padding_mode=ZERO).astype(tw.float32)[None, :]
        normal = ((t - mean) * scale * g + s).astype(w.dtype)
        acc = tw.mma(normal, tw.load(w, (k, j), (tk, tn), padding_mode=ZERO), acc)
    acc = acc + tw.load(bias, (j,), (tn,), padding_mode=ZERO).astype(tw.float32)[None, :]
    gelu = acc * 0.5 * (1.0 + tw.tanh(0.7978845608 * (acc + 0.044715 * acc * acc * acc)))
    row = i * tm + tw.arange(tm, dtype=tw.int32)[:, None]
    column = j * tn + tw.arange(tn, dtype=tw.int32)[None, :]
    uniform = random_bits((row * w.shape[1] + column).astype(tw.uint32), seed)
    tw.store(out, (i, j), tw.where(uniform >= rate, gelu / (1.0 - rate), 0.0).astype(out.dtype))


@tw.tile_kernel
def whole_product(a, b, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """A product without a loop: both operands are loaded whole."""
    i, j = tw.bid(0), tw.bid(1)
    x = tw.load(a, (i, 0), (tm, tk), padding_mode=ZERO)
    y = tw.load(b, (0, j), (tk, tn), padding_mode=ZERO)
    tw.store(c, (i, j), tw.mma(x, y, tw.zeros((tm, tn), tw.float32)).astype(c.dtype))


@tw.tile_kernel
def transpose(x, out, tm: tw.Constant[int], tn: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    tw.store(out, (j, i), tw.load(x, (i, j), (tm, tn), padding_mode=ZERO).transpose())
