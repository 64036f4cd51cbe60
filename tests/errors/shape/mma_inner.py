"""Inner sizes of a product."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    a = ct.load(x, (0, 0), (16, 16))
    b = ct.load(x, (0, 0), (8, 16))
    acc = ct.zeros((16, 16), ct.float32)
    acc = ct.mma(a, b, acc)
    ct.store(x, (0, 0), acc)


def main() -> None:
    kernel[(1,)](np.zeros((16, 16), np.float32))
