"""An item of a range."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    r = range(4)
    ct.store(x, (0,), r[0])


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
