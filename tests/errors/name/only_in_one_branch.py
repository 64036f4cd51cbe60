"""A variable that only one branch assigns."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    if ct.bid(0) > 0:
        scale = 2.0
    ct.store(x, (0,), ct.load(x, (0,), (16,)) * scale)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
