"""Return inside a for loop."""

import numpy as np

import tilewright as ct


def helper(n):
    for i in range(n):
        if i > 3:
            return i
    return n


@ct.tile_kernel
def kernel(x):
    total = helper(ct.bid(0))
    ct.store(x, (0,), ct.float32(total))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
