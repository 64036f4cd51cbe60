"""Products of a large matrix with one row or few, whose time is that of reading the matrix once.

Blocks along the second axis of the grid share the inner dimension; the last one to finish adds their parts.
"""

import tilewright as tw

ZERO = tw.PaddingMode.ZERO


def hand_in(part, parts, turns, y, j, shape):
    """Add the parts of all splits to y's tile (0, j), in their order, so that every run gives the same bits.

    parts: (splits, m, n) float32; turns: an int32 0 per tile, 0 again after.
    """
    splits = tw.num_blocks(1)
    tw.store(parts, (tw.bid(1), 0, j), part.reshape((1, *shape)))
    # The last block sees what the others stored: each released it with its own addition.
    if tw.atomic_add(turns, j, 1) == splits - 1:
        total = tw.zeros((1, *shape), tw.float32)
        for s in range(splits):
            total += tw.load(parts, (s, 0, j), (1, *shape))
        tw.store(y, (0, j), total.reshape(shape).astype(y.dtype))
        tw.store(turns, (j,), 0)


@tw.tile_kernel
def gemv_rows(w, x, y, rows: tw.Constant[int], chunk: tw.Constant[int]):
    """y = w @ x with w (n, k): a block takes a few rows, and all of x, piece by piece."""
    i = tw.bid(0)
    acc = tw.zeros((rows, chunk), tw.float32)
    for k in range(tw.num_tiles(w, 1, (rows, chunk))):
        a = tw.load(w, (i, k), (rows, chunk), padding_mode=ZERO).astype(tw.float32)
        acc += a * tw.load(x, (k,), (chunk,), padding_mode=ZERO).astype(tw.float32)[None, :]
    tw.store(y, (i,), tw.sum(acc, axis=1).astype(y.dtype))


@tw.tile_kernel
def gemv_columns(w, x, parts, turns, y, chunk: tw.Constant[int], columns: tw.Constant[int]):
    """y = x @ w with w (k, n), y (1, n): a block takes a few columns and its share of the rows."""
    j = tw.bid(0)
    acc = tw.zeros((chunk, columns), tw.float32)
    for k in range(tw.bid(1), tw.num_tiles(w, 0, (chunk, columns)), tw.num_blocks(1)):
        a = tw.load(w, (k, j), (chunk, columns), padding_mode=ZERO, latency=3).astype(tw.float32)
        acc += a * tw.load(x, (k,), (chunk,), padding_mode=ZERO).astype(tw.float32)[:, None]
    hand_in(tw.sum(acc, axis=0), parts, turns, y, j, (1, columns))


@tw.tile_kernel
def skinny(x, w, parts, turns, y, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int],
           turned: tw.Constant[bool], split: tw.Constant[bool]):
    """y = x @ w, or x @ w.T where `turned`, for x (m, k) of at most tm rows, on tensor cores."""
    j = tw.bid(0)
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.bid(1), tw.num_tiles(x, 1, (tm, tk)), tw.num_blocks(1)):
        a = tw.load(x, (0, k), (tm, tk), padding_mode=ZERO)
        if turned:
            b = tw.transpose(tw.load(w, (j, k), (tn, tk), padding_mode=ZERO))
        else:
            b = tw.load(w, (k, j), (tk, tn), padding_mode=ZERO)
        acc = tw.mma(a, b, acc)
    if split:
        hand_in(acc, parts, turns, y, j, (tm, tn))
    else:
        tw.store(y, (0, j), acc.astype(y.dtype))
