"""An array as a value."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.printf("%f\n", x)


def main() -> None:
    kernel[(1,)](np.zeros(4, np.float32))
