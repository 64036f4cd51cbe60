"""An array as a condition."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.assert_(x)


def main() -> None:
    kernel[(1,)](np.zeros(4, np.float32))
