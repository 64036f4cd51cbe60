"""A constant that does not fit the tile's dtype."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    a = ct.zeros((16,), ct.int8)
    ct.store(x, (0,), ct.astype(a + 300, ct.float32))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
