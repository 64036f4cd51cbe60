"""A NUL character in a text."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    print("a\0b")


def main() -> None:
    kernel[(1,)](np.zeros(4, np.float32))
