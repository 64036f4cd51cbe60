"""Kernels that reduce along axes which clusters cut: once and again, in branches, of every kind and dtype."""

import tilewright as tw

LOG2E = 1.4426950408889634


@tw.tile_kernel
def softmax_parts(x, out, parts: tw.Constant[int], width: tw.Constant[int]):
    """The softmax of wide rows, each of which is `parts` rows of the matrix as x and out show it.

    Elements at one place of the parts have a maximum of their own, so that they can be summed before the largest of the
    row is known: while others are still loaded, where a thread holds whole columns.
    """
    row = tw.bid(0)
    t = tw.load(x, (row, 0), (parts, width)).astype(tw.float32)
    top = tw.max(t, axis=0, keepdims=True)
    part = tw.sum(tw.exp2(t * LOG2E - top * LOG2E, flush_to_zero=True), axis=0, keepdims=True)
    row_top = tw.max(top)
    share = 1.0 / tw.sum(part * tw.exp2((top - row_top) * LOG2E, flush_to_zero=True))
    e = tw.exp2(t * LOG2E - row_top * LOG2E, flush_to_zero=True)
    tw.store(out, (row, 0), (e * share).astype(out.dtype))


@tw.tile_kernel
def walked_softmax(x, out, n: tw.Constant[int]):
    """Rows one after the other: blocks exchange in every round."""
    for row in range(tw.bid(0), x.shape[0], tw.num_blocks(0)):
        t = tw.load(x, (row, 0), (1, n), padding_mode=tw.PaddingMode.NEG_INF).astype(tw.float32)
        e = tw.exp2((t - tw.max(t, axis=1, keepdims=True)) * LOG2E)
        tw.store(out, (row, 0), (e / tw.sum(e, axis=1, keepdims=True)).astype(out.dtype))


@tw.tile_kernel
def four_ways(x, out, rows: tw.Constant[int], n: tw.Constant[int]):
    """Sum, product, maximum and minimum of each row: columns of out."""
    i = tw.bid(0)
    t = tw.load(x, (i, 0), (rows, n))
    tw.store(out, (i, 0), tw.sum(t, axis=1, keepdims=True))
    tw.store(out, (i, 1), tw.prod(t, axis=1, keepdims=True))
    tw.store(out, (i, 2), tw.max(t, axis=1, keepdims=True))
    tw.store(out, (i, 3), tw.min(t, axis=1, keepdims=True))


@tw.tile_kernel
def some_sums(x, skip, out, n: tw.Constant[int]):
    """Each row less its mean, three times over, for rows that are not skipped; and where each element stands."""
    i = tw.bid(0)
    t = tw.load(x, (i, 0), (1, n))
    if tw.load(skip, (i,), ()) == 0:
        for _ in range(3):
            t = t - tw.sum(t, axis=1, keepdims=True) / n
        t = t + tw.arange(n, dtype=tw.float32)[None, :]
    tw.store(out, (i, 0), t)


@tw.tile_kernel
def added_up(x, out, rows: tw.Constant[int], columns: tw.Constant[int]):
    """Sums over an outer axis, and sums of squares: a loop of which blocks share the iterations."""
    j = tw.bid(0)
    total, square = tw.zeros((columns,), x.dtype), tw.zeros((columns,), x.dtype)
    for i in range(tw.num_tiles(x, 0, (rows, columns))):
        t = tw.load(x, (i, j), (rows, columns), padding_mode=tw.PaddingMode.ZERO)
        total += tw.sum(t, axis=0)
        square += tw.sum(t * t, axis=0)
    tw.store(out, (0, j), total[None, :])
    tw.store(out, (1, j), square[None, :])
