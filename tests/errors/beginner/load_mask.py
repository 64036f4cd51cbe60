"""Triton's mask of a load."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x, n):
    i = ct.arange(16, dtype=ct.int32)
    values = ct.load(x, (0,), (16,), mask=i < n)
    ct.store(x, (0,), values)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32), 16)
