"""A builtin that kernels do not have."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    for i in sorted((2, 1)):
        ct.store(x, i, 1.0)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
