"""The tiles of a reduction broadcast together."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    t = ct.load(x, (0, 0), (4, 16))
    ct.reduce((t, ct.zeros((8,), ct.int32)), 1, lambda a, b, c, d: (a, b), (0, 0))


def main() -> None:
    kernel[(1,)](np.zeros((4, 16), np.int32))
