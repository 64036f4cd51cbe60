"""del."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    t = ct.load(x, (0,), (16,))
    del t.T


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
