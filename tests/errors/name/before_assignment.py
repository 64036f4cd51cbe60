"""A local variable that is read first."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), scale)
    scale = 2.0


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
