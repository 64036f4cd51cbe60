"""A store does not narrow."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x, y):
    tile = ct.load(x, (0,), (16,)) * 0.5
    ct.store(y, (0,), tile)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32), np.zeros(16, np.float16))
