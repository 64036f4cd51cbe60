"""One step of an optimiser over many tensors, in one launch."""

import tilewright as tw
from tilewright.kernels.device.common import store_as


@tw.tile_kernel
def adamw_step(values, grads, means, squares, rate: float, mean_share: float, square_share: float, eps: float,
               decay: float, mean_scale: float, square_scale: float, tile: tw.Constant[int]):
    """Lists of vectors: values, their gradients, and the running means of gradients and of their squares.

    Grid: blocks that share a vector, vectors. The shares are those of a new gradient in the means, 1 - beta; the scales
    take off the bias towards the zeros at the start.
    """
    k = tw.bid(1)
    value, grad, mean, square = values[k], grads[k], means[k], squares[k]
    for i in range(tw.bid(0), tw.cdiv(value.shape[0], tile), tw.num_blocks(0)):
        m, s = tw.load(mean, i, tile), tw.load(square, i, tile)
        g = tw.load(grad, i, tile).astype(m.dtype)
        m = m + (g - m) * mean_share
        s = s + (g * g - s) * square_share
        tw.store(mean, i, m)
        tw.store(square, i, s)
        p = tw.load(value, i, tile).astype(m.dtype)
        p = p - p * (rate * decay)
        store_as(value, i, p - rate * mean_scale * m / (tw.sqrt(s * square_scale) + eps))
