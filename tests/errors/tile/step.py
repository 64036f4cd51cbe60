"""Every third element."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    t = ct.load(x, (0,), (16,))
    ct.store(x, (0,), t[1:12:3])


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
