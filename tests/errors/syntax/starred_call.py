"""* of what is no tuple."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.store(*x)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
