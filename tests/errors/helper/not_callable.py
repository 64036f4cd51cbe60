"""Calling a number."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    n = 3
    ct.store(x, (0,), n(1.0))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
