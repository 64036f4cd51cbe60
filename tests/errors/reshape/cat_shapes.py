"""Tiles of two shapes joined."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), ct.cat((ct.load(x, (0,), (4,)), ct.load(x, (0,), (8,))), 0))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
