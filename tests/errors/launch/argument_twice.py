"""An argument by position and by name."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x, n=1):
    ct.store(x, (0,), 1.0 * n)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32), 2, n=3)
