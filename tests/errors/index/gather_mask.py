"""A mask that does not fit the positions."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    i = ct.arange(16, dtype=ct.int32)
    ct.store(x, (0,), ct.gather(x, i, mask=ct.zeros((8,), ct.bool_)))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
