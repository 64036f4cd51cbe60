"""Kernels that only the benchmarks use."""

import tilewright as tw


@tw.tile_kernel
def row_sum(x, out, columns: tw.Constant[int]):
    row = tw.bid(0)
    tw.store(out, (row,), tw.sum(tw.load(x, (row, 0), (1, columns), padding_mode=tw.PaddingMode.ZERO), axis=1))
