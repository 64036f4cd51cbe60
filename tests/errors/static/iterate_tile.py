"""A loop over a tile in static_eval."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    b = ct.load(x, (0,), (16,))
    n = ct.static_eval([v for v in b])
    ct.store(x, (0,), n)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
