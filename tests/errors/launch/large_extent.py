"""An extent that 32 bits do not hold."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x, y):
    ct.store(y, (0,), 1.0)


def main() -> None:
    kernel[(1,)](np.broadcast_to(np.int8(0), (1 << 31,)), np.zeros(16, np.float32))
