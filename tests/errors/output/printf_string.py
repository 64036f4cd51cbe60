"""A string conversion."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.printf("%s\n", "text")


def main() -> None:
    kernel[(1,)](np.zeros(4, np.float32))
