"""A scaled product of float16."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    a = ct.zeros((32, 32), ct.float16)
    s = ct.ones((32, 1), ct.float16)
    ct.store(x, (0, 0), ct.mma_scaled(a, s, a, s, ct.zeros((32, 32), ct.float32)))


def main() -> None:
    kernel[(1,)](np.zeros((32, 32), np.float32))
