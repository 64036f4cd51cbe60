"""Cross-entropy of logits and labels with label smoothing, of any number of classes, and its gradient."""

import math

import tilewright as tw
from tilewright.kernels.device.common import LOWEST, exp_below, load_wide, store_as, wide


def log_sum(logits, row, chunk):
    """Maximum of a row, and the sum of exp(x - maximum), in chunks."""
    top = tw.full((1, 1), -math.inf, wide(logits.dtype))
    total = tw.zeros((1, 1), wide(logits.dtype))
    for j in range(tw.cdiv(logits.shape[1], chunk)):
        t = load_wide(logits, (row, j), (1, chunk), LOWEST)
        higher = tw.maximum(top, tw.max(t, axis=1, keepdims=True))
        base = tw.where(higher == -math.inf, 0.0, higher)
        total = total * exp_below(top, base) + tw.sum(exp_below(t, base), axis=1, keepdims=True)
        top = higher
    return top, total


@tw.tile_kernel
def cross_entropy_rows(logits, labels, loss, smoothing, ignored: int, chunk: tw.Constant[int]):
    """logits: (m, n), labels: (m,), loss: (m,). `smoothing` is None or a float."""
    row = tw.bid(0)
    label = tw.gather(labels, row)
    if label == ignored:
        tw.store(loss, row, 0.0)
        return
    n = logits.shape[1]
    top, total = log_sum(logits, row, chunk)
    base = top + tw.log(total)
    value = base - tw.gather(logits, (row, label)).astype(base.dtype)
    if smoothing is not None:
        below = tw.zeros((1, chunk), wide(logits.dtype))
        for j in range(tw.cdiv(n, chunk)):
            below += load_wide(logits, (row, j), (1, chunk))
        value = (1.0 - smoothing) * value + smoothing * (base - tw.sum(below) / n)
    tw.store(loss, row, value.reshape((1,)))


@tw.tile_kernel
def cross_entropy_rows_backward(grad, logits, labels, dx, smoothing, ignored: int, chunk: tw.Constant[int]):
    """grad, labels: (m,), logits, dx: (m, n)."""
    row = tw.bid(0)
    label, above = tw.gather(labels, row), tw.gather(grad, row).astype(wide(logits.dtype))
    n = logits.shape[1]
    if label == ignored:
        for j in range(tw.cdiv(n, chunk)):
            tw.store(dx, (row, j), tw.zeros((1, chunk), dx.dtype))
        return
    top, total = log_sum(logits, row, chunk)
    share = 1.0 / total
    for j in range(tw.cdiv(n, chunk)):
        p = exp_below(load_wide(logits, (row, j), (1, chunk), LOWEST), top) * share
        column = j * chunk + tw.arange(chunk, dtype=tw.int32)[None, :]
        if smoothing is None:
            target = tw.where(column == label, 1.0, 0.0)
        else:
            target = tw.where(column == label, 1.0 - smoothing, 0.0) + smoothing / n
        store_as(dx, (row, j), (p - target) * above)
