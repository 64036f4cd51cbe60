"""An axis that the tile does not have."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    t = ct.load(x, (0, 0), (4, 16))
    ct.cumsum(t, 2)


def main() -> None:
    kernel[(1,)](np.zeros((4, 16), np.int32))
