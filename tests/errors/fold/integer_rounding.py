"""Integers have no rounding modes."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    t = ct.load(x, (0, 0), (4, 16))
    ct.cumsum(t, rounding_mode=ct.RoundingMode.RZ)


def main() -> None:
    kernel[(1,)](np.zeros((4, 16), np.int32))
