"""An argument by a name that no parameter has."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x, n):
    ct.store(x, (0,), 1.0 * n)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32), m=3)
