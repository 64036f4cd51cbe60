"""Softmax and its gradient along an axis of a view (outer, n, inner), and of rows that no block holds."""

import math

import tilewright as tw
from tilewright.kernels.device.common import LOWEST, exp_below, load_wide, store_as, wide


@tw.tile_kernel
def softmax_rows(x, out, rows: tw.Constant[int], width: tw.Constant[int]):
    """x, out: (m, n), n at most width. A block holds `rows` whole rows."""
    i = tw.bid(0)
    t = load_wide(x, (i, 0), (rows, width), LOWEST)
    e = exp_below(t, tw.max(t, axis=1, keepdims=True))
    # One division a row and a multiplication per element: an IEEE division costs ten instructions.
    store_as(out, (i, 0), e * (1.0 / tw.sum(e, axis=1, keepdims=True)))


@tw.tile_kernel
def softmax_rows_backward(grad, y, dx, rows: tw.Constant[int], width: tw.Constant[int]):
    """grad, y, dx: (m, n), n at most width; y is the softmax."""
    i = tw.bid(0)
    above, share = load_wide(grad, (i, 0), (rows, width)), load_wide(y, (i, 0), (rows, width))
    store_as(dx, (i, 0), share * (above - tw.sum(above * share, axis=1, keepdims=True)))


@tw.tile_kernel
def softmax_middle(x, out, chunk: tw.Constant[int], inner: tw.Constant[int]):
    """x, out: (outer, n, k), softmax along n, any length, in chunks: a running maximum and sum, then the shares."""
    o, i = tw.bid(0), tw.bid(1)
    top = tw.full((1, 1, inner), -math.inf, wide(x.dtype))
    total = tw.zeros((1, 1, inner), wide(x.dtype))
    for j in range(tw.cdiv(x.shape[1], chunk)):
        t = load_wide(x, (o, j, i), (1, chunk, inner), LOWEST)
        higher = tw.maximum(top, tw.max(t, axis=1, keepdims=True))
        # Where all is -inf so far, any finite number may be subtracted.
        base = tw.where(higher == -math.inf, 0.0, higher)
        total = total * exp_below(top, base) + tw.sum(exp_below(t, base), axis=1, keepdims=True)
        top = higher
    share = 1.0 / total
    for j in range(tw.cdiv(x.shape[1], chunk)):
        t = load_wide(x, (o, j, i), (1, chunk, inner), LOWEST)
        store_as(out, (o, j, i), exp_below(t, top) * share)


@tw.tile_kernel
def softmax_middle_backward(grad, y, dx, chunk: tw.Constant[int], inner: tw.Constant[int]):
    """grad, y, dx: (outer, n, k); y is the softmax along n."""
    o, i = tw.bid(0), tw.bid(1)
    along = tw.zeros((1, 1, inner), wide(y.dtype))
    for j in range(tw.cdiv(y.shape[1], chunk)):
        above, share = load_wide(grad, (o, j, i), (1, chunk, inner)), load_wide(y, (o, j, i), (1, chunk, inner))
        along += tw.sum(above * share, axis=1, keepdims=True)
    for j in range(tw.cdiv(y.shape[1], chunk)):
        above, share = load_wide(grad, (o, j, i), (1, chunk, inner)), load_wide(y, (o, j, i), (1, chunk, inner))
        store_as(dx, (o, j, i), share * (above - along))
