"""A part of another rank."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), ct.extract(ct.load(x, (0,), (16,)), (0,), (4, 4)))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
