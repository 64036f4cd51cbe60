"""Unpacking too few items with a star."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    first, second, *rest = x.shape
    ct.store(x, (0,), 1.0)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
