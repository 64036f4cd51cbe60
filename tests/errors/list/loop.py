"""Two names for one list behind a loop."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    a = [1]
    b = [2]
    for i in range(x.shape[0]):
        a = [a[0] + 1]
        b[0] += i
        b = a
    a[0] = 5
    ct.store(x, (0,), ct.float32(a[0] + b[0]))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
