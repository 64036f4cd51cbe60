"""A part larger than the tile."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), ct.extract(ct.load(x, (0,), (16,)), (0,), (32,)))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
