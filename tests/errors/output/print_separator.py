"""A separator that is no string."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    print("a", "b", sep=ct.bid(0))


def main() -> None:
    kernel[(1,)](np.zeros(4, np.float32))
