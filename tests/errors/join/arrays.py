"""Arrays of two ranks under one name."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x, y):
    if ct.bid(0) > 0:
        a = x
    else:
        a = y
    ct.store(a, (0,), 1.0)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32), np.zeros((4, 4), np.float32))
