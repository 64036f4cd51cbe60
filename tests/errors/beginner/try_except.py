"""Catching what is outside of the array."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    try:
        t = ct.load(x, (0,), (16,))
    except IndexError:
        t = ct.zeros((16,), ct.float32)
    ct.store(x, (0,), t)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
