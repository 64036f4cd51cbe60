"""Scales of two dtypes."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    a = ct.zeros((32, 32), ct.float8_e5m2)
    s = ct.ones((32, 1), ct.float8_e8m0fnu)
    r = ct.ones((1, 32), ct.float8_e4m3fn)
    ct.store(x, (0, 0), ct.mma_scaled(a, s, a, r, ct.zeros((32, 32), ct.float32)))


def main() -> None:
    kernel[(1,)](np.zeros((32, 32), np.float32))
