"""A shape must be constant."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x, n):
    tile = ct.load(x, (0,), (n,))
    ct.store(x, (0,), tile)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32), 16)
