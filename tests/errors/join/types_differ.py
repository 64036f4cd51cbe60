"""Two branches, two types."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    if ct.bid(0) > 0:
        scale = ct.float32(2.0)
    else:
        scale = ct.int32(2)
    ct.store(x, (0,), ct.load(x, (0,), (16,)) * scale)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
