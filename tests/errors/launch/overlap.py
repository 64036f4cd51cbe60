"""Two outputs that overlap without being equal."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x, y):
    ct.store(x, (0,), ct.load(y, (0,), (16,)))
    ct.store(y, (0,), ct.load(x, (0,), (16,)))


def main() -> None:
    x = np.zeros(32, np.float32)
    kernel[(1,)](x[:16], x[8:24])
