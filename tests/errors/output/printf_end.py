"""A percent sign at the end."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.printf("100%")


def main() -> None:
    kernel[(1,)](np.zeros(4, np.float32))
