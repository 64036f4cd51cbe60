"""An index that is a quotient."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.store(x, ct.bid(0) / 2, ct.load(x, 0, 16))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
