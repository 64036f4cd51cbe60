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


def chunk_of(x, o, j, i, dtype, neutral, shape):
    """A tile of x, with what changes no result beyond the end of the middle axis."""
    t = tw.load(x, (o, j, i), shape, padding_mode=tw.PaddingMode.ZERO).astype(dtype)
    if neutral == 0:
        return t
    there = (j * shape[1] + tw.arange(shape[1], dtype=tw.int32) < x.shape[1])[None, :, None]
    return tw.where(there, t, tw.full((1, 1, 1), neutral, dtype))


@tw.tile_kernel
def reduce_middle(x, out, op: tw.Constant[str], dtype: tw.Constant[tw.DType], neutral: tw.Constant[float], divisor,
                  shape: tw.Constant[tuple[int, int, int]], whole: tw.Constant[bool]):
    """x: (outer, n, k), out: (outer, parts, k): each of the parts reduces chunks of `shape` that lie `parts` apart.
    With `whole` there is one part, of one chunk, which holds all of n.

    `neutral` changes no result. The result is divided by `divisor`, unless that is None.
    """
    o, i, p = tw.bid(0), tw.bid(1), tw.bid(2)
    if whole:
        acc = chunk_of(x, o, 0, i, dtype, neutral, shape)
    else:
        acc = tw.full(shape, neutral, dtype)
        for j in range(p, tw.cdiv(x.shape[1], shape[1]), tw.num_blocks(2)):
            acc = combine(op, acc, chunk_of(x, o, j, i, dtype, neutral, shape))
    result = fold(op, acc)
    if divisor is not None:
        result = result / divisor
    tw.store(out, (o, p, i), result.astype(out.dtype))
