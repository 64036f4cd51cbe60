"""The largest element's position in two axes at once."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0, 0), ct.argmax(ct.load(x, (0, 0), (16, 16)), axis=(0, 1)))


def main() -> None:
    kernel[(1,)](np.zeros((16, 16), np.float32))
