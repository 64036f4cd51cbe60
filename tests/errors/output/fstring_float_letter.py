"""A format for floats on integers."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    t = ct.load(x, 0, 4)
    print(f"{t:.2f}")


def main() -> None:
    kernel[(1,)](np.zeros(4, np.int32))
