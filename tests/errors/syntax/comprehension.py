"""A set comprehension."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    total = sum({i for i in range(4)})
    ct.store(x, (0,), total)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
