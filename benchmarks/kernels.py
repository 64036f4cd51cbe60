"""Kernels that only the benchmarks use."""

import tilewright as tw


@tw.tile_kernel
def matmul(a, b, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int], group: tw.Constant[int],
           tf32: tw.Constant[bool]):
    """c = a @ b; blocks that run together share rows of a and columns of b (`group` rows of tiles at a time)."""
    rows, columns = tw.cdiv(a.shape[0], tm), tw.cdiv(b.shape[1], tn)
    block = tw.bid(0)
    first = block // (group * columns) * group
    height = min(rows - first, group)
    inside = block % (group * columns)
    i, j = first + inside % height, inside // height
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.num_tiles(a, 1, (tm, tk))):
        ta = tw.load(a, (i, k), (tm, tk), padding_mode=tw.PaddingMode.ZERO)
        tb = tw.load(b, (k, j), (tk, tn), padding_mode=tw.PaddingMode.ZERO)
        if tf32:
            ta, tb = ta.astype(tw.tfloat32), tb.astype(tw.tfloat32)
        acc = tw.mma(ta, tb, acc)
    tw.store(c, (i, j), acc.astype(c.dtype))
