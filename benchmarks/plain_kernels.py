"""Kernels over rows in the words that come first: `exp`, a division, `where` or a padding for columns beyond the end.

`row_kernels.py` has the same worded for speed. What differs between the two is the compiler's to close.
"""

import tilewright as tw

ZERO = tw.PaddingMode.ZERO
NEG_INF = tw.PaddingMode.NEG_INF
MINUS_INF = float("-inf")


@tw.tile_kernel
def softmax(x, out, width: tw.Constant[int]):
    i = tw.bid(0)
    t = tw.load(x, (i, 0), (1, width), padding_mode=NEG_INF).astype(tw.float32)
    e = tw.exp(t - tw.max(t, axis=1, keepdims=True))
    tw.store(out, (i, 0), (e / tw.sum(e, axis=1, keepdims=True)).astype(out.dtype))


@tw.tile_kernel
def masked_softmax(x, out, width: tw.Constant[int]):
    i = tw.bid(0)
    inside = tw.arange(width, dtype=tw.int32)[None, :] < x.shape[1]
    t = tw.load(x, (i, 0), (1, width), padding_mode=ZERO).astype(tw.float32)
    t = tw.where(inside, t, MINUS_INF)
    e = tw.where(inside, tw.exp(t - tw.max(t, axis=1, keepdims=True)), 0.0)
    tw.store(out, (i, 0), (e / tw.sum(e, axis=1, keepdims=True)).astype(out.dtype))


@tw.tile_kernel
def layer_norm(x, weight, bias, out, eps: float, width: tw.Constant[int]):
    i = tw.bid(0)
    columns = x.shape[1]
    t = tw.load(x, (i, 0), (1, width), padding_mode=ZERO).astype(tw.float32)
    mean = tw.sum(t, axis=1, keepdims=True) / columns
    centred = tw.where(tw.arange(width, dtype=tw.int32)[None, :] < columns, t - mean, 0.0)
    variance = tw.sum(centred * centred, axis=1, keepdims=True) / columns
    w = tw.load(weight, (0,), (width,)).astype(tw.float32)
    b = tw.load(bias, (0,), (width,)).astype(tw.float32)
    tw.store(out, (i, 0), (centred / tw.sqrt(variance + eps) * w + b).astype(out.dtype))


@tw.tile_kernel
def rms_norm(x, weight, out, eps: float, width: tw.Constant[int]):
    i = tw.bid(0)
    t = tw.load(x, (i, 0), (1, width), padding_mode=ZERO).astype(tw.float32)
    w = tw.load(weight, (0,), (width,)).astype(tw.float32)
    tw.store(out, (i, 0), (t / tw.sqrt(tw.sum(t * t, axis=1, keepdims=True) / x.shape[1] + eps) * w).astype(out.dtype))


@tw.tile_kernel
def row_sum(x, out, width: tw.Constant[int]):
    i = tw.bid(0)
    t = tw.load(x, (i, 0), (1, width), padding_mode=ZERO).astype(tw.float32)
    tw.store(out, (i,), tw.sum(t, axis=1))


@tw.tile_kernel
def cumsum(x, out, width: tw.Constant[int]):
    i = tw.bid(0)
    t = tw.load(x, (i, 0), (1, width), padding_mode=ZERO).astype(tw.float32)
    tw.store(out, (i, 0), tw.cumsum(t, axis=1).astype(out.dtype))


# ---- the same with a loop over rows: each block walks every num_blocks-th row ------------------------------------


@tw.tile_kernel
def persistent_softmax(x, out, width: tw.Constant[int]):
    for i in range(tw.bid(0), x.shape[0], tw.num_blocks(0)):
        t = tw.load(x, (i, 0), (1, width), padding_mode=NEG_INF).astype(tw.float32)
        e = tw.exp(t - tw.max(t, axis=1, keepdims=True))
        tw.store(out, (i, 0), (e / tw.sum(e, axis=1, keepdims=True)).astype(out.dtype))


@tw.tile_kernel
def persistent_layer_norm(x, weight, bias, out, eps: float, width: tw.Constant[int]):
    columns = x.shape[1]
    w = tw.load(weight, (0,), (width,)).astype(tw.float32)
    b = tw.load(bias, (0,), (width,)).astype(tw.float32)
    for i in range(tw.bid(0), x.shape[0], tw.num_blocks(0)):
        t = tw.load(x, (i, 0), (1, width), padding_mode=ZERO).astype(tw.float32)
        mean = tw.sum(t, axis=1, keepdims=True) / columns
        centred = tw.where(tw.arange(width, dtype=tw.int32)[None, :] < columns, t - mean, 0.0)
        variance = tw.sum(centred * centred, axis=1, keepdims=True) / columns
        tw.store(out, (i, 0), (centred / tw.sqrt(variance + eps) * w + b).astype(out.dtype))


@tw.tile_kernel
def persistent_rms_norm(x, weight, out, eps: float, width: tw.Constant[int]):
    w = tw.load(weight, (0,), (width,)).astype(tw.float32)
    for i in range(tw.bid(0), x.shape[0], tw.num_blocks(0)):
        t = tw.load(x, (i, 0), (1, width), padding_mode=ZERO).astype(tw.float32)
        scale = tw.sqrt(tw.sum(t * t, axis=1, keepdims=True) / x.shape[1] + eps)
        tw.store(out, (i, 0), (t / scale * w).astype(out.dtype))


@tw.tile_kernel
def persistent_row_sum(x, out, width: tw.Constant[int]):
    for i in range(tw.bid(0), x.shape[0], tw.num_blocks(0)):
        t = tw.load(x, (i, 0), (1, width), padding_mode=ZERO).astype(tw.float32)
        tw.store(out, (i,), tw.sum(t, axis=1))


@tw.tile_kernel
def persistent_cumsum(x, out, width: tw.Constant[int]):
    for i in range(tw.bid(0), x.shape[0], tw.num_blocks(0)):
        t = tw.load(x, (i, 0), (1, width), padding_mode=ZERO).astype(tw.float32)
        tw.store(out, (i, 0), tw.cumsum(t, axis=1).astype(out.dtype))
