"""An accumulator that the operands do not have."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    t = ct.load(x, (0, 0), (16, 16))
    h = t.astype(ct.bfloat16)
    ct.store(x, (0, 0), ct.mma(h, h, ct.zeros((16, 16), ct.float16)).astype(ct.float32))


def main() -> None:
    kernel[(1,)](np.zeros((16, 16), np.float32))
