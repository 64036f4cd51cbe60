"""A tile that does not fit the runs."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    i = ct.arange(16, dtype=ct.int32)
    ct.store_advanced_indexing(x, (i, ct.Slice(0, 16)), ct.zeros((16, 8), ct.float32))


def main() -> None:
    kernel[(1,)](np.zeros((16, 16), np.float32))
