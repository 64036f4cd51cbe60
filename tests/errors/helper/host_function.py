"""A function of this package that is for the host."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    y = ct.to_device(x)
    ct.store(y, 0, 1.0)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
