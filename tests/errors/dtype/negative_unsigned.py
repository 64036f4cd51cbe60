"""A negative constant in a float format without sign."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), ct.astype(ct.float8_e8m0fnu(-2.0), ct.float32))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
