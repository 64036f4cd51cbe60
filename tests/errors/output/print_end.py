"""An end that is no string."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    print("a", end=None)


def main() -> None:
    kernel[(1,)](np.zeros(4, np.float32))
