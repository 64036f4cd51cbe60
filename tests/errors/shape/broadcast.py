"""Shapes that do not broadcast."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    a = ct.ones((16,), ct.float32)
    b = ct.ones((8,), ct.float32)
    ct.store(x, (0,), a + b)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
