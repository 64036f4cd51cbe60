"""The transpose of three axes, without saying which."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), ct.transpose(ct.zeros((2, 4, 8), ct.float32)))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
