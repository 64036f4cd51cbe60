"""A grid that is too large."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), 1.0)


def main() -> None:
    kernel[(1 << 24,)](np.zeros(16, np.float32))
