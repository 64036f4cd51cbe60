"""An item of a range that only the run knows."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    r = range(ct.bid(0))
    ct.store(x, (0,), r[0])


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
