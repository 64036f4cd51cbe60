"""Reductions along the middle axis of a view (outer, n, inner)."""

import tilewright as tw


def combine(op, x, y):
    """One step of a reduction. Of floats, "max" and "min" give NaN where there is one, "most" and "least" are those of
    integers."""
    if op == "sum":
        return x + y
    if op == "prod":
        return x * y
    if op == "max":
        return tw.maximum(x, y, propagate_nan=True)
    if op == "min":
        return tw.minimum(x, y, propagate_nan=True)
    return tw.maximum(x, y) if op == "most" else tw.minimum(x, y)


def fold(op, t):
    """The reduction of a tile along its middle axis."""
    if op == "sum":
        return tw.sum(t, axis=1, keepdims=True)
    if op == "prod":
        return tw.prod(t, axis=1, keepdims=True)
    if op == "max":
        return tw.max(t, axis=1, keepdims=True, propagate_nan=True)
    if op == "min":
        return tw.min(t, axis=1, keepdims=True, propagate_nan=True)
    return tw.max(t, axis=1, keepdims=True) if op == "most" else tw.min(t, axis=1, keepdims=True)


@tw.tile_kernel
def reduce_middle(x, out, op: tw.Constant[str], dtype: tw.Constant[tw.DType], neutral: tw.Constant[float], divisor,
                  chunk: tw.Constant[int], inner: tw.Constant[int]):
    """x: (outer, n, k), out: (outer, parts, k): each of the parts reduces chunks that lie `parts` apart.

    `neutral` changes no result. The result is divided by `divisor`, unless that is None.
    """
    o, i, p = tw.bid(0), tw.bid(1), tw.bid(2)
    acc = tw.full((1, chunk, inner), neutral, dtype)
    for j in range(p, tw.cdiv(x.shape[1], chunk), tw.num_blocks(2)):
        t = tw.load(x, (o, j, i), (1, chunk, inner), padding_mode=tw.PaddingMode.ZERO).astype(dtype)
        there = (j * chunk + tw.arange(chunk, dtype=tw.int32) < x.shape[1])[None, :, None]
        acc = combine(op, acc, tw.where(there, t, tw.full((1, 1, 1), neutral, dtype)))
    result = fold(op, acc)
    if divisor is not None:
        result = result / divisor
    tw.store(out, (o, p, i), result.astype(out.dtype))
