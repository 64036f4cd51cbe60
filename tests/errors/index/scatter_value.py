"""A value that does not fit the positions."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    i = ct.arange(16, dtype=ct.int32)
    ct.scatter(x, i, ct.zeros((8,), ct.float32))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
