"""A function of NumPy that the language does not have."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    t = ct.load(x, (0,), (16,))
    ct.store(x, (0,), ct.clip(t, 0, 1))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
