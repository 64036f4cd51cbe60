"""A float that should be divisible."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    n = ct.assume_divisible_by(2.0, 2)
    ct.store(x, (n,), 1.0)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
