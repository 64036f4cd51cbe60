"""A bound that the loop's variable cannot hold."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    for i in range(2**33, 2**33 + 3):
        ct.store(x, 0, i)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.int64))
