"""A number from outside that no integer type holds."""

import numpy as np

import tilewright as ct

big = 1 << 80


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), big)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
