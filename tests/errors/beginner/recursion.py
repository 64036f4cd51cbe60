"""Recursion on a run-time value."""

import numpy as np

import tilewright as ct


def factorial(n):
    if n < 2:
        return 1
    return n * factorial(n - 1)


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), factorial(ct.bid(0)))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
