"""NumPy's assignment to a slice of an array."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    x[0:16] = 1.0


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
