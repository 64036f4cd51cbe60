"""A list of arrays with different numbers of axes."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(xs):
    ct.store(xs[0], 0, ct.load(xs[1], 0, 16))


def main() -> None:
    kernel[(1,)]([np.zeros(16, np.float32), np.zeros((16, 16), np.float32)])
