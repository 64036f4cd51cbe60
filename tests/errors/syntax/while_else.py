"""Else after a loop."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    i = 0
    while i < ct.bid(0):
        i += 1
    else:
        i = 7
    ct.store(x, (0,), ct.float32(i))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
