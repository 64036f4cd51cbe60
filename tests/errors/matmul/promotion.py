"""@ of int8 and uint8."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    a = ct.zeros((16, 16), ct.int8)
    b = ct.zeros((16, 16), ct.uint8)
    ct.store(x, (0,), ct.sum(a @ b).astype(ct.float32))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
