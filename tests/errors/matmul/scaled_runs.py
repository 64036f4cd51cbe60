"""Scales of the operands that stand for different numbers of elements."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    a = ct.zeros((32, 32), ct.float4_e2m1fn)
    s, t = ct.ones((32, 2), ct.float8_e8m0fnu), ct.ones((1, 32), ct.float8_e8m0fnu)
    ct.store(x, (0, 0), ct.mma_scaled(a, s, a, t, ct.zeros((32, 32), ct.float32)))


def main() -> None:
    kernel[(1,)](np.zeros((32, 32), np.float32))
