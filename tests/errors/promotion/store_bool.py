"""A number into an array of bools."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), 2)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.bool_))
