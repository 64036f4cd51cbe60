"""A power that takes too long to compute."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), 3 ** 1000000)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
