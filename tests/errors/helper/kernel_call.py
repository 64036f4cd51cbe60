"""A kernel called from a kernel."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def other(x):
    ct.store(x, (0,), 1.0)


@ct.tile_kernel
def kernel(x):
    other(x)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
