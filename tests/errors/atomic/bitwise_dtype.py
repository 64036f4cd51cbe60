"""Bitwise operations ask for the array's dtype."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.atomic_or(x, 0, 1)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.int64))
