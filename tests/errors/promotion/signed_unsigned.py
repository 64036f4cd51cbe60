"""Signed and unsigned do not mix."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    a = ct.arange(16, dtype=ct.int32)
    b = ct.arange(16, dtype=ct.uint32)
    ct.store(x, (0,), ct.astype(a + b, ct.float32))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
