"""An argument that the function does not have."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    tile = ct.load(x, (0,), shape=(16,), padding=ct.PaddingMode.ZERO)
    ct.store(x, (0,), tile)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
