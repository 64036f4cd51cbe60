"""A tuple whose length is no power of two."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), ct.astile((1.0, 2.0, 3.0), dtype=ct.float32))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
