"""A tile as large as the array."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    n = x.shape[0]
    t = ct.arange(n, dtype=ct.int32)
    ct.store(x, (0,), t)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
