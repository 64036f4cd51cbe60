"""int() of a tile."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.store(x, (int(ct.arange(4, dtype=ct.int32)),), 1.0)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
