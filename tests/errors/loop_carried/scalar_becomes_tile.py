"""An accumulator that starts as a scalar."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    total = 0.0
    i = 0
    while i < ct.num_blocks(0):
        total = total + ct.load(x, (i,), (16,))
        i += 1
    ct.store(x, (0,), total)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
