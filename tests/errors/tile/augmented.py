"""Adding to an element of a tile in place."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    t = ct.load(x, (0,), (16,))
    t[0] += 1.0
    ct.store(x, (0,), t)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
