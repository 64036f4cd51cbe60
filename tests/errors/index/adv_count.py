"""Advanced indexing with too few entries."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    i = ct.arange(16, dtype=ct.int32)
    ct.store(x, (0, 0), ct.load_advanced_indexing(x, (i,)))


def main() -> None:
    kernel[(1,)](np.zeros((16, 16), np.float32))
