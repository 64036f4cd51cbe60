"""Positions in two axes."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    i = ct.zeros((4, 4), ct.int32)
    ct.store(x, (0, 0), ct.load_advanced_indexing(x, (i, ct.Slice(0, 16))))


def main() -> None:
    kernel[(1,)](np.zeros((16, 16), np.float32))
