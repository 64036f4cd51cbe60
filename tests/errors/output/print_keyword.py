"""A keyword that print does not have."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    print("a", file=x)


def main() -> None:
    kernel[(1,)](np.zeros(4, np.float32))
