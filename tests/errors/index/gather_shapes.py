"""Positions whose shapes do not fit."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0, 0), ct.gather(x, (ct.arange(16, dtype=ct.int32), ct.arange(8, dtype=ct.int32))))


def main() -> None:
    kernel[(1,)](np.zeros((16, 16), np.float32))
