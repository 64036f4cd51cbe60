"""A format of an array."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    print(f"{x:5}")


def main() -> None:
    kernel[(1,)](np.zeros(4, np.float32))
