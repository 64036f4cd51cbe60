"""An accumulator of another shape."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    t = ct.load(x, (0, 0), (16, 16))
    ct.store(x, (0, 0), ct.mma(t, t, ct.zeros((16, 8), ct.float32)))


def main() -> None:
    kernel[(1,)](np.zeros((16, 16), np.float32))
