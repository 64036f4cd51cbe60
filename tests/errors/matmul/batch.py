"""Batches that do not broadcast."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    a = ct.zeros((2, 16, 16), ct.float32)
    b = ct.zeros((4, 16, 16), ct.float32)
    ct.store(x, (0, 0), ct.sum(a @ b, 0))


def main() -> None:
    kernel[(1,)](np.zeros((16, 16), np.float32))
