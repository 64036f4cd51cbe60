"""An accumulator made by NumPy."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    total = np.zeros(16, np.float32)
    for i in range(4):
        total += ct.load(x, (i,), (16,))
    ct.store(x, (0,), total)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
