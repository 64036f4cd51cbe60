"""A scaled product of four axes."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    a = ct.zeros((1, 1, 32, 32), ct.float8_e5m2)
    s = ct.ones((1, 1, 32, 1), ct.float8_e8m0fnu)
    ct.store(x, (0, 0), ct.mma_scaled(a, s, a, s, ct.zeros((1, 1, 32, 32), ct.float32)))


def main() -> None:
    kernel[(1,)](np.zeros((32, 32), np.float32))
