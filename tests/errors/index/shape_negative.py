"""A shape with a negative length."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), ct.zeros((-4,), ct.float32))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
