"""An angle of integers."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    t = ct.load(x, (0,), (16,))
    ct.store(x, (0,), ct.atan2(t, t))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.int32))
