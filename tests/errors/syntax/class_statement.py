"""class."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    class Pair:
        a = 1
    ct.store(x, (0,), Pair.a)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
