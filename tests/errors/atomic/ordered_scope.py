"""An ordered access without a scope."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.load(x, (0,), (16,), memory_order=ct.MemoryOrder.ACQUIRE)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
