"""arange(start, stop) as in NumPy."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), ct.arange(0, 16, dtype=ct.float32))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
