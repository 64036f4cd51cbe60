"""More values than targets."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    a, b = (1, 2, 3)
    ct.store(x, (a,), b)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
