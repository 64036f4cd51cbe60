"""A loop over a tile."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    for v in ct.load(x, (0,), (16,)):
        ct.store(x, (0,), v)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
