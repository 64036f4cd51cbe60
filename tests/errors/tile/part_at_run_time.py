"""A part of a tile at a place that only the run knows."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    t = ct.load(x, (0,), (16,))
    i = ct.bid(0)
    ct.store(x, (0,), t[i:i + 4])


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
