"""The sides of a conditional."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    tile = ct.load(x, (0,), (16,))
    ct.store(x, (0,), tile if ct.bid(0) > 0 else 0.0)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
