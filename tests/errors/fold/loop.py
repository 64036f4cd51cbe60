"""A loop in the function."""

import numpy as np

import tilewright as ct


def total(a, b):
    for _ in range(2):
        a = a + b
    return a


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), ct.reduce(ct.load(x, (0,), (16,)), 0, total, 0.0))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
