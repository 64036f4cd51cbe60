"""A NumPy scalar of a dtype that kernels do not have."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x, n):
    ct.store(x, (0,), 1.0)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32), np.complex64(3))
