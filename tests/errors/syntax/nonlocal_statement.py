"""nonlocal."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    n = 0
    def bump():
        nonlocal n
        n = n + 1
    bump()
    ct.store(x, (0,), n)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
