"""A fourth axis of the grid."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.store(x, (ct.bid(3),), 1.0)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
