"""A builtin that kernels do not have."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    for i, n in enumerate((1, 2)):
        ct.store(x, (i,), n)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
