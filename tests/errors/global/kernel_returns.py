"""A kernel that returns a value."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    return ct.load(x, (0,), (16,))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
