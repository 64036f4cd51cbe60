"""A loop until all elements are large enough."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    t = ct.load(x, 0, 16)
    while t < 100:
        t = t + 1
    ct.store(x, 0, t)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
