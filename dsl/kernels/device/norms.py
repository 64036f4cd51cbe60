"""Normalisation of rows and of groups, with gradients. Weights' gradients are one row of sums for each block: they are
added up in the order of blocks, so each run gives the same bits."""

import tilewright as tw
from tilewright.kernels.device.common import inside, load_wide, store_as, wide


def row_of(vector, width, missing):
    """(1, width): a vector as a row; `missing` where there is none."""
    if vector is None:
        return missing
    return load_wide(vector, 0, width).reshape((1, width))


def normal_rows(t, n, eps, centred):
    """The normalised rows, and the factor of each: `centred` takes the mean off first (layer norm)."""
    if centred:
        # The variance of what is left: the mean of squares less the mean's square would cancel.
        t = tw.where(inside(t.shape[1], n), t - tw.sum(t, axis=1, keepdims=True) / n, 0.0)
    scale = tw.rsqrt(tw.sum(t * t, axis=1, keepdims=True) / n + eps)
    return t * scale, scale


@tw.tile_kernel
def norm_rows(x, residual, weight, bias, out, total, eps: float, centred: tw.Constant[bool], rows: tw.Constant[int],
              width: tw.Constant[int]):
    """x, out: (m, n), n at most width. With a residual, `total` becomes x + residual, and that is normalised."""
    i = tw.bid(0)
    t = load_wide(x, (i, 0), (rows, width))
    if residual is not None:
        t += load_wide(residual, (i, 0), (rows, width))
        store_as(total, (i, 0), t)
    normal, _ = normal_rows(t, x.shape[1], eps, centred)
    store_as(out, (i, 0), normal * row_of(weight, width, 1.0) + row_of(bias, width, 0.0))


@tw.tile_kernel
def norm_rows_backward(grad, added, x, weight, dx, weight_parts, bias_parts, eps: float, centred: tw.Constant[bool],
                       rows: tw.Constant[int], width: tw.Constant[int]):
    """grad, x, dx: (m, n), n at most width; weight_parts: (blocks, n), bias_parts: the same, None unless `centred`.
    `added`, or None, is added to dx.
    """
    w = row_of(weight, width, 1.0)
    n = x.shape[1]
    # One sum for each row of the tile: they meet after the loop, so that no iteration adds up across threads.
    weight_sum, bias_sum = tw.zeros((rows, width), wide(x.dtype)), tw.zeros((rows, width), wide(x.dtype))
    for i in range(tw.bid(0), tw.cdiv(x.shape[0], rows), tw.num_blocks(0)):
        normal, scale = normal_rows(load_wide(x, (i, 0), (rows, width)), n, eps, centred)
        above = load_wide(grad, (i, 0), (rows, width))
        scaled = above * w
        # What lies along x, and along the mean, is lost: the output does not change with those.
        slope = scaled - normal * (tw.sum(scaled * normal, axis=1, keepdims=True) / n)
        if centred:
            slope -= tw.sum(scaled, axis=1, keepdims=True) / n
        slope *= scale
        if added is not None:
            slope += load_wide(added, (i, 0), (rows, width))
        store_as(dx, (i, 0), slope)
        weight_sum += above * normal
        if centred:
            bias_sum += above
    tw.store(weight_parts, (tw.bid(0), 0), tw.sum(weight_sum, axis=0, keepdims=True))
    if centred:
        tw.store(bias_parts, (tw.bid(0), 0), tw.sum(bias_sum, axis=0, keepdims=True))


def group_statistics(x, g, eps, channels, places):
    """Mean and reciprocal standard deviation of a group of a view (groups, channels, places)."""
    n = x.shape[1] * x.shape[2]
    total = tw.zeros((1, channels, places), wide(x.dtype))
    for k in range(tw.cdiv(x.shape[2], places)):
        total += load_wide(x, (g, 0, k), (1, channels, places))
    mean = tw.sum(total) / n
    square = tw.zeros((1, channels, places), wide(x.dtype))
    there = inside(channels, x.shape[1]).reshape((1, channels, 1))
    for k in range(tw.cdiv(x.shape[2], places)):
        t = load_wide(x, (g, 0, k), (1, channels, places)) - mean
        t = tw.where(there & (k * places + tw.arange(places, dtype=tw.int32) < x.shape[2]), t, 0.0)
        square += t * t
    return mean, tw.rsqrt(tw.sum(square) / n + eps)


def channels_of(vector, g, channels):
    """(1, channels, 1): the entries of a (groups, channels) view for group g, counted within an example."""
    return load_wide(vector, (g % vector.shape[0], 0), (1, channels)).reshape((1, channels, 1))


@tw.tile_kernel
def norm_groups(x, weight, bias, out, eps: float, channels: tw.Constant[int], places: tw.Constant[int]):
    """x, out: (examples * groups, channels, places), weight, bias: (groups, channels). A block does a group."""
    g = tw.bid(0)
    mean, scale = group_statistics(x, g, eps, channels, places)
    w, b = channels_of(weight, g, channels), channels_of(bias, g, channels)
    for k in range(tw.cdiv(x.shape[2], places)):
        t = load_wide(x, (g, 0, k), (1, channels, places))
        store_as(out, (g, 0, k), (t - mean) * scale * w + b)


@tw.tile_kernel
def norm_whole_groups(x, weight, bias, out, eps: float, channels: tw.Constant[int], places: tw.Constant[int]):
    """As `norm_groups`, of groups that a block holds: at most `channels` and `places`."""
    g = tw.bid(0)
    n = x.shape[1] * x.shape[2]
    t = load_wide(x, (g, 0, 0), (1, channels, places))
    there = inside(channels, x.shape[1]).reshape((1, channels, 1)) & inside(places, x.shape[2])
    t = tw.where(there, t - tw.sum(t) / n, 0.0)
    scale = tw.rsqrt(tw.sum(t * t) / n + eps)
    store_as(out, (g, 0, 0), t * scale * channels_of(weight, g, channels) + channels_of(bias, g, channels))


@tw.tile_kernel
def norm_groups_backward(grad, x, weight, dx, weight_parts, bias_parts, eps: float, channels: tw.Constant[int],
                         places: tw.Constant[int]):
    """grad, x, dx: (examples * groups, channels, places), weight_parts, bias_parts: (examples * groups, channels)."""
    g = tw.bid(0)
    mean, scale = group_statistics(x, g, eps, channels, places)
    w = channels_of(weight, g, channels)
    n = x.shape[1] * x.shape[2]
    weight_sum = tw.zeros((1, channels, 1), wide(x.dtype))
    bias_sum = tw.zeros((1, channels, 1), wide(x.dtype))
    for k in range(tw.cdiv(x.shape[2], places)):
        normal = (load_wide(x, (g, 0, k), (1, channels, places)) - mean) * scale
        above = load_wide(grad, (g, 0, k), (1, channels, places))
        weight_sum += tw.sum(above * normal, axis=2, keepdims=True)
        bias_sum += tw.sum(above, axis=2, keepdims=True)
    along_x, along_mean = tw.sum(weight_sum * w) / n, tw.sum(bias_sum * w) / n
    for k in range(tw.cdiv(x.shape[2], places)):
        normal = (load_wide(x, (g, 0, k), (1, channels, places)) - mean) * scale
        above = load_wide(grad, (g, 0, k), (1, channels, places))
        store_as(dx, (g, 0, k), (above * w - along_mean - normal * along_x) * scale)
    tw.store(weight_parts, (g, 0), weight_sum.reshape((1, channels)))
    tw.store(bias_parts, (g, 0), bias_sum.reshape((1, channels)))
