"""The last array of a list by a negative index."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(xs):
    ct.store(xs[-1], (0,), 1.0)


def main() -> None:
    kernel[(1,)]([np.zeros(16, np.float32)])
