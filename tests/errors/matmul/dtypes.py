"""Operands of two dtypes."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    t = ct.load(x, (0, 0), (16, 16))
    ct.store(x, (0, 0), ct.mma(t.astype(ct.float16), t.astype(ct.bfloat16), t))


def main() -> None:
    kernel[(1,)](np.zeros((16, 16), np.float32))
