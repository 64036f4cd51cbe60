"""A constant that is an array."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x, n: ct.Constant[int]):
    ct.store(x, (0,), n)


def main() -> None:
    x = np.zeros(16, np.float32)
    kernel[(1,)](x, x)
