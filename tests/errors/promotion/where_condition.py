"""A condition that is text."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), ct.where("yes", 1.0, 0.0))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
