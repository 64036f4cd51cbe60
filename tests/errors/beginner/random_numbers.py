"""Random numbers by NumPy."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    t = np.random.rand(16)
    ct.store(x, (0,), t)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
