"""Bitwise operands of two widths."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x, y):
    ct.store(y, (0,), ct.load(x, (0,), (16,)) & ct.load(y, (0,), (16,)))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.int32), np.zeros(16, np.int64))
