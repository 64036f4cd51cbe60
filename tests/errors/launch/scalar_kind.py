"""A float for an integer."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x, n: ct.ScalarInt64):
    ct.store(x, (0,), n)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32), 1.5)
