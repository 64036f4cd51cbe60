"""A row of an array by index."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0, 0), x[0])


def main() -> None:
    kernel[(1,)](np.zeros((16, 16), np.float32))
