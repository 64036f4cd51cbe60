"""Kernels over the rows of a matrix, written plainly: a block holds `rows` whole rows of up to `width` columns."""

import tilewright as tw

ZERO = tw.PaddingMode.ZERO
LOG2E = 1.4426950408889634


@tw.tile_kernel
def row_sum(x, out, rows: tw.Constant[int], width: tw.Constant[int]):
    i = tw.bid(0)
    tw.store(out, (i,), tw.sum(tw.load(x, (i, 0), (rows, width), padding_mode=ZERO), axis=1))


@tw.tile_kernel
def scaled_relu(x, out, scale: float, shift: float, rows: tw.Constant[int], width: tw.Constant[int]):
    """relu(x) * scale + shift; blocks that run together read neighbouring memory."""
    j, i = tw.bid(0), tw.bid(1)
    tw.store(out, (i, j), tw.maximum(tw.load(x, (i, j), (rows, width)), 0.0) * scale + shift)


@tw.tile_kernel
def softmax_rows(x, out, rows: tw.Constant[int], width: tw.Constant[int]):
    """The softmax of narrow rows, several of them in a block."""
    i = tw.bid(0)
    t = tw.load(x, (i, 0), (rows, width), padding_mode=tw.PaddingMode.NEG_INF).astype(tw.float32)
    e = tw.exp2(t * LOG2E - tw.max(t, axis=1, keepdims=True) * LOG2E, flush_to_zero=True)
    tw.store(out, (i, 0), (e * (1.0 / tw.sum(e, axis=1, keepdims=True))).astype(out.dtype))


@tw.tile_kernel
def rms_norm(x, weight, out, eps: float, rows: tw.Constant[int], width: tw.Constant[int]):
    i = tw.bid(0)
    t = tw.load(x, (i, 0), (rows, width), padding_mode=ZERO).astype(tw.float32)
    scale = tw.rsqrt(tw.sum(t * t, axis=1, keepdims=True) / x.shape[1] + eps)
    w = tw.load(weight, (0,), (width,)).astype(tw.float32)
    tw.store(out, (i, 0), (t * scale * w[None, :]).astype(out.dtype))


@tw.tile_kernel
def layer_norm(x, weight, bias, out, eps: float, rows: tw.Constant[int], width: tw.Constant[int]):
    i = tw.bid(0)
    columns = x.shape[1]
    t = tw.load(x, (i, 0), (rows, width), padding_mode=ZERO).astype(tw.float32)
    mean = tw.sum(t, axis=1, keepdims=True) / columns
    # The variance of what is left when the mean is taken off: the mean of squares less the mean's square cancels.
    centred = tw.where(tw.arange(width, dtype=tw.int32)[None, :] < columns, t - mean, 0.0)
    scale = tw.rsqrt(tw.sum(centred * centred, axis=1, keepdims=True) / columns + eps)
    w = tw.load(weight, (0,), (width,)).astype(tw.float32)
    b = tw.load(bias, (0,), (width,)).astype(tw.float32)
    tw.store(out, (i, 0), (centred * scale * w[None, :] + b[None, :]).astype(out.dtype))


# ---- the same with a loop over rows: each block walks every num_blocks-th row ------------------------------------


@tw.tile_kernel
def persistent_softmax(x, out, rows: tw.Constant[int], width: tw.Constant[int]):
    for i in range(tw.bid(0), tw.cdiv(x.shape[0], rows), tw.num_blocks(0)):
        t = tw.load(x, (i, 0), (rows, width), padding_mode=tw.PaddingMode.NEG_INF).astype(tw.float32)
        e = tw.exp2(t * LOG2E - tw.max(t, axis=1, keepdims=True) * LOG2E, flush_to_zero=True)
        tw.store(out, (i, 0), (e * (1.0 / tw.sum(e, axis=1, keepdims=True))).astype(out.dtype))


@tw.tile_kernel
def persistent_rms_norm(x, weight, out, eps: float, rows: tw.Constant[int], width: tw.Constant[int]):
    for i in range(tw.bid(0), tw.cdiv(x.shape[0], rows), tw.num_blocks(0)):
        t = tw.load(x, (i, 0), (rows, width), padding_mode=ZERO).astype(tw.float32)
        scale = tw.rsqrt(tw.sum(t * t, axis=1, keepdims=True) / x.shape[1] + eps)
        w = tw.load(weight, (0,), (width,)).astype(tw.float32)
        tw.store(out, (i, 0), (t * scale * w[None, :]).astype(out.dtype))


@tw.tile_kernel
def persistent_layer_norm(x, weight, bias, out, eps: float, rows: tw.Constant[int], width: tw.Constant[int]):
    columns = x.shape[1]
    for i in range(tw.bid(0), tw.cdiv(x.shape[0], rows), tw.num_blocks(0)):
        t = tw.load(x, (i, 0), (rows, width), padding_mode=ZERO).astype(tw.float32)
        mean = tw.sum(t, axis=1, keepdims=True) / columns
        centred = tw.where(tw.arange(width, dtype=tw.int32)[None, :] < columns, t - mean, 0.0)
        scale = tw.rsqrt(tw.sum(centred * centred, axis=1, keepdims=True) / columns + eps)
        w = tw.load(weight, (0,), (width,)).astype(tw.float32)
        b = tw.load(bias, (0,), (width,)).astype(tw.float32)
        tw.store(out, (i, 0), (centred * scale * w[None, :] + b[None, :]).astype(out.dtype))
