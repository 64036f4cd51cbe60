"""One axis of two for a transpose."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0, 0), ct.transpose(ct.load(x, (0, 0), (16, 16)), 0))


def main() -> None:
    kernel[(1,)](np.zeros((16, 16), np.float32))
