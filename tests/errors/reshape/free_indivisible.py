"""A length left open that does not come out."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), ct.load(x, (0,), (16,)).reshape((-1, 32)))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
