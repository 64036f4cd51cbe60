"""The inner product of vectors of two lengths."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    a = ct.load(x, (0,), (16,))
    b = ct.load(x, (0,), (8,))
    ct.store(x, (0,), a @ b)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
