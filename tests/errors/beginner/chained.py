"""A chained comparison of tiles as a condition."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    t = ct.load(x, 0, 16)
    if 0 < t < 2:
        ct.store(x, 0, t)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
