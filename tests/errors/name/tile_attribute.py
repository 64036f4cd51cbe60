"""A NumPy habit."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    tile = ct.load(x, (0,), (16,))
    ct.store(x, (0,), tile.mean())


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
