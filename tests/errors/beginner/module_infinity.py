"""The infinity of NumPy's module, which is no name of the language."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    t = ct.load(x, (0,), (16,))
    ct.store(x, (0,), ct.where(t > 0, t, -ct.inf))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
