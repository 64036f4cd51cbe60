"""The name of a function is no function."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), ct.reduce(ct.load(x, (0,), (16,)), 0, "sum", 0.0))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
