"""A constant that the array's dtype does not hold."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), 200)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.int8))
