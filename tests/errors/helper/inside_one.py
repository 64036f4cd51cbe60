"""An error inside a helper shows the call."""

import numpy as np

import tilewright as ct


def scale(tile, factor):
    return ct.where(tile, factor)


@ct.tile_kernel
def kernel(x):
    tile = ct.load(x, (0,), (16,))
    ct.store(x, (0,), scale(tile, 2.0))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
