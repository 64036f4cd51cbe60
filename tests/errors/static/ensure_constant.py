"""A run-time value that should be a constant."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    n = ct.ensure_constant(ct.bid(0))
    ct.store(x, (n,), 1.0)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
