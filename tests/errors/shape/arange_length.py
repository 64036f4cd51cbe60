"""A tile that no array pads, of no power of two."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.scatter(x, ct.arange(10, dtype=ct.int32), 1.0)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
