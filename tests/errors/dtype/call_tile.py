"""A dtype called with a tile."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), ct.float32(ct.arange(16, dtype=ct.int32)))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
