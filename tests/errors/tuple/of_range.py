"""tuple() of a range."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    t = tuple(range(4))
    ct.store(x, (0,), t[0])


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
