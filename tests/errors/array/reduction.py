"""A reduction of an array."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), ct.sum(x))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
