"""Lists do not exist in kernels."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    sizes = [4, 8]
    ct.store(x, (0,), ct.zeros((sizes[0],), ct.float32))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
