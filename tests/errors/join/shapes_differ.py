"""Two branches, two shapes."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    if ct.bid(0) > 0:
        tile = ct.zeros((16,), ct.float32)
    else:
        tile = ct.zeros((8,), ct.float32)
    ct.store(x, (0,), tile)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
