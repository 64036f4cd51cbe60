"""A variable that exists only if the loop ran."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    for i in range(ct.num_blocks(0)):
        tile = ct.load(x, (i,), (16,))
    ct.store(x, (0,), tile)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
