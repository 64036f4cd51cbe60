"""What a dtype is like is not asked in a kernel."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), x.dtype.bitwidth)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
