"""Assigning to an item of a tuple."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    t = (1, 2)
    t[0] = 3
    ct.store(x, (0,), t[0])


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
