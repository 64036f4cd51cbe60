"""An argument that is missing where others are given by name."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x, y, n=1):
    ct.store(x, (0,), 1.0 * n)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32), n=3)
