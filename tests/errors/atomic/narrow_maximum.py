"""An atomic maximum of 16-bit integers."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.atomic_max(x, 0, 1)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.int16))
