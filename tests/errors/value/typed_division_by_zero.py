"""Division of typed constants by zero."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), ct.int32(5) // ct.int32(0))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
