"""A loop over the elements of an array."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    for v in x:
        ct.store(x, (0,), v)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
