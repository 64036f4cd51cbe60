"""A dtype without atomic operations."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.atomic_add(x, 0, 1)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.int16))
