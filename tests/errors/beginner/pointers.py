"""Triton's pointer arithmetic."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x, n):
    offsets = ct.bid(0) * 16 + ct.arange(16, dtype=ct.int32)
    values = ct.load(x + offsets, mask=offsets < n)
    ct.store(x + offsets, values)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32), 16)
