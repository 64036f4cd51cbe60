"""Two lists side by side."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(xs, ys):
    for x, y in zip(xs, ys):
        ct.store(x, 0, ct.load(y, 0, 16))


def main() -> None:
    kernel[(1,)]([np.zeros(16, np.float32)], [np.zeros(16, np.float32)])
