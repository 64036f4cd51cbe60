"""A helper called with too few arguments."""

import numpy as np

import tilewright as ct


def scale(tile, factor):
    return tile * factor


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), scale(ct.load(x, (0,), (16,))))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
